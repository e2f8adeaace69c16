"""Models: building them from settings, retries and fallback, and the embedded one."""
