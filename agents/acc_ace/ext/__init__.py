"""Extensions: one folder each, that the core runs without; they register through `hooks`."""
