"""How the embedded model answers, for each agent that asks it."""
