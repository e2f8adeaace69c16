"""`acc-ace playbook …`: read and edit the playbook, and review pending changes."""
