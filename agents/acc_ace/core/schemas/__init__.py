"""Frozen pydantic values shared by every part of the product."""
