"""Rules and attachments at the prompt."""
