"""Estimate tokens deterministically, without a tokenizer.

A token is a word of up to eight Latin letters, three digits, capitals or letters of other scripts,
two kana, one other CJK character, four ASCII marks in a row, or one other mark: within an eighth
of o200k_base for prose in English and Japanese, schemas, tools, code, logs and identifiers.
"""

from itertools import islice

from acc_ace.core.text.patterns import lazy_pattern, remembered

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f"
"""Characters of scripts without spaces, as regular expression ranges."""

_PIECE = lazy_pattern(
    rf"[\u3040-\u309f]{{1,2}}|[\u30a0-\u30ff]{{1,2}}|[{CJK}]|[A-Z]?[a-zß-öø-ÿ]{{1,8}}"
    rf"|[^\W_a-zß-öø-ÿ{CJK}]{{1,3}}|[!-/:-@[-`{{-~‹›]{{1,4}}|[^\w\s]"
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
    # The blank tail of a text within its budget.
    return text.rstrip() if len(text) > 12 * budget + 64 else text
