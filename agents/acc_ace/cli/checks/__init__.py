"""The checks of `acc-ace doctor`, by subject."""
