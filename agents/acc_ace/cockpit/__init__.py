"""The cockpit: a page that shows and corrects the memory of every app, and what feeds it."""
