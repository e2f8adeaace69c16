"""Models behind an OpenAI-compatible endpoint: chat completions, streamed, with httpx alone."""
