"""`acc-ace playbook …`: read the playbook, change it by hand, decide what was held.

`commands` names the commands and their options; each imports its work when it is run.
"""
