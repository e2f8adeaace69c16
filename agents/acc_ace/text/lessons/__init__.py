"""Take a lesson apart for comparison: terms, numbers, names, denials, order."""
