"""Recall by meaning: embedders, and their vectors beside the artifacts."""
