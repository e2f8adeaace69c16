"""How often recall finds the evidence, beside ADK's own memory services."""
