"""Grow-and-refine (ACE, arXiv 2510.04618, section 3.2): merge duplicates, archive the rest.

`refine_plan.refine` is the entry point; the other modules hold one step each.
"""
