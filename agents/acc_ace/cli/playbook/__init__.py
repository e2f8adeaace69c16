"""`acc-ace playbook …`: read the playbook, change it by hand, decide what was held."""
