"""Estimate tokens deterministically, without a tokenizer.

One token per CJK character, per four consecutive letters or digits, and per punctuation mark.
The estimate is on the high side for current models, so a budget met here is met there.
"""

from itertools import islice

from acc_ace.core.text.patterns import lazy_pattern, remembered

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f"
"""Characters that count as one token each, as regular expression ranges."""

_PIECE = lazy_pattern(rf"[{CJK}]|[^\W_{CJK}]{{1,4}}|[^\w\s]|_")
"""One piece is one token: a CJK character, up to four other word characters, or a mark."""

CUT_MARK = "…"


@remembered
def estimate_tokens(text: str) -> int:
    """Tokens of a text; 0 for blank text."""
    return len(_PIECE.findall(text))


def token_end(text: str, budget: int, *, start: int, stop: int) -> int:
    """The position of the first token beyond a budget in `text[start:stop]`.

    `stop` if all of them fit.
    """
    beyond = next(islice(_PIECE.finditer(text, start, stop), budget, None), None)
    return stop if beyond is None else beyond.start()


def clip_tokens(text: str, budget: int) -> str:
    """The longest prefix within `budget` tokens, with '…' if it was cut.

    The time is linear in the budget, independent of the length of the text.
    """
    if budget <= 0:
        return ""
    # No token is shorter than a character.
    if len(text) > budget and next(islice(_PIECE.finditer(text), budget, None), None):
        # The mark itself is a token, so it replaces the last piece.
        last = next(islice(_PIECE.finditer(text), budget - 2, None)) if budget > 1 else None
        return text[: last.end() if last else 0].rstrip() + CUT_MARK
    return text.rstrip() if len(text) > _slack(budget) else text


def _slack(budget: int) -> int:
    """Maximum characters of a text within budget before its blank tail is dropped."""
    return 8 * budget + 64
