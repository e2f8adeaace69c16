"""The commit gate and the qualification gate."""
