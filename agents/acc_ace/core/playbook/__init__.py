"""The playbook: curation, selection, sharing, versions and offline learning."""
