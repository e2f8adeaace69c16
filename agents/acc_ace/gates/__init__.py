"""The commit gate and the qualification gate, one rule a module."""
