"""Evaluation: what the product is measured with, on data that stays where it is."""
