"""The roles of the embedded model, one per agent."""
