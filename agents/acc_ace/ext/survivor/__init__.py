"""A small world to survive in, and a survivor that keeps a playbook. Plain Python, no ADK."""
