"""What connects the turn to ADK: services, tools, stages and the plugin."""
