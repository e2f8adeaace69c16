"""ADK sessions, bounded: what a turn loads and stores does not grow with the session."""
