"""Undo obfuscation that models can read but patterns cannot: spaced letters, encodings."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from acc_ace.core.text.patterns import lazy_pattern

MAX_HIDDEN = 16
"""Maximum encoded pieces decoded of a text."""

MAX_ENCODED = 8_192
"""Maximum characters of one encoded piece."""

_MARK = r"[ \t.\-_*·|/+~]"
_SPACED = lazy_pattern(
    rf"(?<![A-Za-z0-9])[A-Za-z0-9](?:{_MARK}{{1,3}}[A-Za-z0-9](?![A-Za-z0-9])){{5,}}"
)
_SPACED_CJK = lazy_pattern(
    r"[\u3041-\u30ff\u4e00-\u9fff](?:[ \t\u3000・.\-_*|]{1,3}[\u3041-\u30ff\u4e00-\u9fff]){5,}"
)
_GAPS = lazy_pattern(rf"{_MARK}+")
_LONE_MARK = lazy_pattern(rf"(?<=[A-Za-z0-9]){_MARK}(?=[A-Za-z0-9])")
_CJK_GAP = lazy_pattern(r"[ \t\u3000・.\-_*|]+")
_BASE64 = lazy_pattern(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{20,{MAX_ENCODED}}}={{0,2}}")
_HEX = lazy_pattern(
    rf"(?<![0-9A-Za-z])(?:0x)?((?:[0-9a-fA-F]{{2}}[ :]?){{12,{MAX_ENCODED // 2}}})(?![0-9A-Za-z])"
)
_READABLE = 0.9


class Spelled(NamedTuple):
    """A text with spaced letters joined, and the joined letters alone, without gaps."""

    text: str
    runs: list[str]


def spelled_out(text: str) -> Spelled | None:
    """The text with spaced letters joined, or None when there are none.

    A gap other than the most common one is read as a space.
    """
    runs: list[str] = []

    def join(match: re.Match[str]) -> str:
        words = _words(match.group())
        runs.append(words.replace(" ", ""))
        return words

    seen = _SPACED.sub(join, text)
    seen = _SPACED_CJK.sub(lambda match: _CJK_GAP.sub("", match.group()), seen)
    return Spelled(seen, runs) if seen != text else None


def _words(run: str) -> str:
    usual = Counter(_LONE_MARK.findall(run)).most_common(1)
    letter_gap = usual[0][0] if usual else ""
    return _GAPS.sub(lambda gap: "" if gap.group() == letter_gap else " ", run)


def decoded(text: str) -> Iterator[str]:
    """Decode base64 and hexadecimal pieces of a text; yields only readable results."""
    left = MAX_HIDDEN
    for pattern, decode in ((_BASE64, _from_base64), (_HEX, _from_hex)):
        for match in pattern.finditer(text):
            if not left:
                return
            plain = decode(match.group())
            if plain is not None:
                left -= 1
                yield plain


def _from_base64(piece: str) -> str | None:
    plain = piece.rstrip("=").replace("-", "+").replace("_", "/")
    # Paths and long words usually have an invalid length or do not decode to text.
    if len(plain) % 4 == 1:
        return None
    try:
        return _readable(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def _from_hex(piece: str) -> str | None:
    try:
        return _readable(bytes.fromhex(piece.removeprefix("0x").replace(":", " ")))
    except ValueError:
        return None


def _readable(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    shown = sum(letter.isprintable() or letter.isspace() for letter in text)
    return text if text and shown >= _READABLE * len(text) else None
