"""Grow-and-refine (ACE, arXiv 2510.04618, section 3.2): merge what says the same, archive the rest.

`refine_plan.refine` is the entry point; the other modules each hold one step.
"""
