"""Estimate tokens deterministically, without a tokenizer.

A token is a word of up to eight Latin letters, three of other scripts, two kana, one other CJK
character, three digits, three capitals, four ASCII marks in a row, or one other mark. Within a tenth of o200k_base for prose, Japanese,
JSON, schemas and code (`bench.token_counts`); other tokenizers of current models are near it.
"""

from itertools import islice

from acc_ace.core.text.patterns import lazy_pattern, remembered

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f"
"""Characters of scripts without spaces, as regular expression ranges."""

_LATIN = "a-zß-öø-ÿ"
_PIECE = lazy_pattern(
    rf"[\u3040-\u309f]{{1,2}}|[\u30a0-\u30ff]{{1,2}}|[{CJK}]"
    rf"|[A-Z]?[{_LATIN}]{{1,8}}|[A-Z]{{1,3}}|\d{{1,3}}|[^\W\d_{_LATIN}{CJK}]{{1,3}}"
    r"|[!-/:-@[-^`{-~]{1,4}|[^\w\s]|_"
)
"""One piece is one token."""

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
