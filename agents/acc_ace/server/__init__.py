"""The HTTP server: ADK's FastAPI app, our `/v1` routes, and the guards around both."""
