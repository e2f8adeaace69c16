"""Long dialogues with questions: what was said is played, what is left of it is asked for."""
