"""Pure text functions: language, words, dates, duplicates, redaction, tokens."""
