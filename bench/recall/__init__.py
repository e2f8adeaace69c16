"""The recall benchmark: evidence found, compared with ADK's memory services."""
