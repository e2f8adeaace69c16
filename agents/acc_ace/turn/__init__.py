"""One turn, step by step, without an agent framework (Algorithm 1 of arXiv 2601.11653)."""
