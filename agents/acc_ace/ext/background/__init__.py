"""Background learning as durable jobs."""
