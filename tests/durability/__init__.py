"""Playbooks under many writers, kill -9 and long histories."""
