"""The embedded model: a deterministic, extractive engine for all five roles. Not an LLM."""
