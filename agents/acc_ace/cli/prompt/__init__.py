"""What the prompt offers beside talking: rules, and text of others that goes with a message."""
