"""The cockpit: a page in the browser over `/v1`, with streams of what is committed."""
