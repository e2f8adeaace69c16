"""Benchmarks: ratios in one process, with the command that reproduces them."""
