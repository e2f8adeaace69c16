"""The numbers that SQL stores give to models, by which they find what a model has not embedded."""

from collections.abc import Sequence

NO_MODEL = 0
"""What was never embedded has this in place of a model's number; those begin at 1."""

_HIGHEST = 2**31 - 1


def ranges_without(number: int | None) -> Sequence[tuple[int, int]]:
    """All numbers but this one, as ranges from the first to be embedded to the last.

    What was never embedded goes first: with another model, all that was stored before is to be
    done again, and a new turn should not wait for it. Ranges, because an index is read through for
    'not equal'. A model without a number (None) has embedded nothing.
    """
    known = number or NO_MODEL
    return (NO_MODEL, NO_MODEL), (NO_MODEL + 1, known - 1), (known + 1, _HIGHEST)
