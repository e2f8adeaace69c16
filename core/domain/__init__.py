"""Pure functions and rules: no I/O, no clock, no agent framework."""
