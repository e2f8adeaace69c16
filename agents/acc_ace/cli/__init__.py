"""The terminal: `acc-ace chat`, `doctor`, `serve`, `playbook` and `memory`.

`app.py` only parses arguments; each command's code is in the module named after it, imported
when the command runs, so that `acc-ace --help` is fast.
"""
