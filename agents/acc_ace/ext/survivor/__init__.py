"""A small world to survive in, and a survivor that keeps a playbook.

The world is plain Python without ADK; what asks a model, or is talked to, builds on ADK.
"""
