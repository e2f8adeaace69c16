"""The core: state, gates, playbook algebra and the basics of text; pure, no ADK, no I/O."""
