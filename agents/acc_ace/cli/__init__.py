"""The terminal: `acc-ace chat`, `doctor`, `serve`, `playbook` and `memory`.

`app.py` only reads arguments; what a command does is in the module named after it, which is
imported when the command runs, so that `acc-ace --help` answers at once.
"""
