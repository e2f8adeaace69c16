"""Re-run a turn's answer: another model, or without a rule. Nothing acts, nothing is committed."""
