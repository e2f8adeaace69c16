"""Text of users, models and documents, made safe to print on a terminal."""

import unicodedata

_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_AS_IT_IS = frozenset("\n ")
_REPLACED = {"\t": " " * 4, "\u2028": "\n", "\u2029": "\n", **dict.fromkeys(_BIDI, "")}
_BY_CATEGORY = {"Cc": "", "Cs": "\ufffd"}


def printable(text: str) -> str:
    """Text without escape sequences, control characters or direction overrides.

    Line breaks stay, tabs become spaces, and lone surrogates become U+FFFD.
    """
    return "".join(
        character if character in _AS_IT_IS or character.isprintable() else _shown(character)
        for character in text
    )


def _shown(character: str) -> str:
    if character in _REPLACED:
        return _REPLACED[character]
    return _BY_CATEGORY.get(unicodedata.category(character), character)
