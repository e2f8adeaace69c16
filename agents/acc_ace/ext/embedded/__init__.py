"""The embedded model: a deterministic, extractive engine for the five roles. Not an LLM."""
