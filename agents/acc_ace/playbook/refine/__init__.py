"""Grow-and-refine (ACE, arXiv 2510.04618, section 3.2): merge what says the same, archive the rest.

`plan.refine` is the whole of it; the other modules each hold one step.
"""
