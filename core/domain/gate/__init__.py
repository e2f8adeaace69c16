"""The rules behind the commit gate and the qualification gate, one idea per file."""
