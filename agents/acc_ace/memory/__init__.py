"""External memory: what is stored, ranked and recalled."""
