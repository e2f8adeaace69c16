"""Functions of text alone: language, words, dates, duplicates, redaction, tokens."""
