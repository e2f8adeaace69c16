"""The routes of `/v1`, by subject."""
