"""The notes on rules beside an answer: lines of the turn, never words of the agent."""

from collections.abc import Sequence


def below(notes: Sequence[str]) -> str:
    """The notes as they stand below an answer; '' for none."""
    return "\n\n" + "\n".join(notes) if notes else ""


def without_notes(text: str, notes: Sequence[str]) -> str:
    """A text that may end with the notes, without them."""
    lines = "\n".join(notes)
    return text.removesuffix(lines).rstrip("\n") if lines and text.endswith(lines) else text
