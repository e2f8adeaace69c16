"""Undo what hides words from a reader of text but not from a model: spaced letters, encodings."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from acc_ace.text.patterns import lazy_pattern

MAX_HIDDEN = 16
"""Encoded pieces of a text that are looked into."""

MAX_ENCODED = 8_192
"""Characters of one encoded piece."""

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
    """A text whose spaced letters are joined, and those letters alone, without any gap."""

    text: str
    runs: list[str]


def spelled_out(text: str) -> Spelled | None:
    """The text as spaced letters in it read, or None when there are none.

    A wider gap than usual, or another one, parts words.
    """
    runs: list[str] = []

    def join(found: re.Match[str]) -> str:
        words = _words(found.group())
        runs.append(words.replace(" ", ""))
        return words

    seen = _SPACED.sub(join, text)
    seen = _SPACED_CJK.sub(lambda found: _CJK_GAP.sub("", found.group()), seen)
    return Spelled(seen, runs) if seen != text else None


def _words(run: str) -> str:
    usual = Counter(_LONE_MARK.findall(run)).most_common(1)
    letter_gap = usual[0][0] if usual else ""
    return _GAPS.sub(lambda gap: "" if gap.group() == letter_gap else " ", run)


def decoded(text: str) -> Iterator[str]:
    """What base64 and hexadecimal pieces of a text say, where they say something readable."""
    left = MAX_HIDDEN
    for pattern, decode in ((_BASE64, _from_base64), (_HEX, _from_hex)):
        for found in pattern.finditer(text):
            if not left:
                return
            said = decode(found.group())
            if said is not None:
                left -= 1
                yield said


def _from_base64(piece: str) -> str | None:
    plain = piece.rstrip("=").replace("-", "+").replace("_", "/")
    # A path or a long word is no multiple of what base64 writes, or decodes to no text.
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
