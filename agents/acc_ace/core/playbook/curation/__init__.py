"""The guard between the Curator and the playbook."""
