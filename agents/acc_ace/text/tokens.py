"""Estimate tokens without a tokenizer, the same way everywhere.

The estimate counts one token for each CJK character, one for each four letters or digits in a
row, and one for each mark. It errs on the high side for the tokenizers of current models, so a
budget kept here is kept there.
"""

from itertools import islice

from acc_ace.text.patterns import lazy_pattern

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f"
"""Characters that are a token each, as ranges of a regular expression."""

_PIECE = lazy_pattern(rf"[{CJK}]|[^\W_{CJK}]{{1,4}}|[^\w\s]|_")
"""One piece is one token: a CJK character, up to four other word characters, or a mark."""

CUT_MARK = "…"


def estimate_tokens(text: str) -> int:
    """Tokens of a text; 0 for blank text."""
    return sum(1 for _ in _PIECE.finditer(text))


def token_end(text: str, budget: int, *, start: int, stop: int) -> int:
    """Where the first token that no longer fits a budget begins in `text[start:stop]`.

    `stop` when all of them fit.
    """
    beyond = next(islice(_PIECE.finditer(text, start, stop), budget, None), None)
    return stop if beyond is None else beyond.start()


def clip_tokens(text: str, budget: int) -> str:
    """The longest prefix within `budget` tokens; one that was cut ends in '…'.

    Takes time in proportion to the budget, whatever the length of the text.
    """
    if budget <= 0:
        return ""
    ends: list[int] = []
    for match in _PIECE.finditer(text):
        if len(ends) == budget:
            # The mark itself is a token, so it takes the place of the last piece.
            kept = ends[-2] if budget > 1 else 0
            return text[:kept].rstrip() + CUT_MARK
        ends.append(match.end())
    return text.rstrip() if len(text) > _slack(budget) else text


def _slack(budget: int) -> int:
    """Characters that a text within budget may have before its blank tail is dropped."""
    return 8 * budget + 64
