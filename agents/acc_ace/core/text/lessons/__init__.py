"""Parse lessons into terms; lessons with equal terms are duplicates."""
