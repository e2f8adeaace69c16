"""Documents in external memory: read, cut into chunks, imported, listed."""
