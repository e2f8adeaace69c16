"""The ADK app: bounded memory and a self-improving playbook around one answering agent."""
