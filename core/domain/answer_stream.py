"""Stream the `final_answer` out of a GeneratorOutput that is still being written.

The Generator answers in JSON, but a reader wants the answer as it grows. `AnswerStream` reads the
JSON as it arrives and gives back the new characters of `final_answer`, unescaped. A reply that
does not begin like JSON is an answer in plain text and is passed on as it is.
"""

import json
import re

_KEY = re.compile(r'"final_answer"\s*:\s*"')
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class AnswerStream:
    """Feed chunks of a reply, get chunks of the answer."""

    def __init__(self) -> None:
        self._text = ""
        self._at: int | None = None
        self._plain: bool | None = None
        self._done = False

    def feed(self, chunk: str) -> str:
        """The characters of the answer that this chunk completes; '' if there are none yet."""
        self._text += chunk
        if self._plain is None and not self._decide():
            return ""
        if self._plain:
            fresh, self._text = self._text, ""
            return fresh
        return self._from_json()

    def _decide(self) -> bool:
        """Whether enough has arrived to tell JSON from plain text."""
        head = self._text.lstrip()
        if not head:
            return False
        if head[0] == "`" and len(head) < len("```json"):
            return False
        self._plain = not (head[0] == "{" or head.startswith("```"))
        return True

    def _from_json(self) -> str:
        if self._at is None:
            key = _find_key(self._text)
            if key is None:
                return ""
            self._at = key
        out: list[str] = []
        while not self._done:
            piece, end = _next_char(self._text, self._at)
            if end == self._at:
                break
            self._at = end
            if piece is None:
                self._done = True
                break
            out.append(piece)
        return "".join(out)


def _find_key(text: str) -> int | None:
    """Where the value of the top-level key `final_answer` begins, or None."""
    for match in _KEY.finditer(text):
        if _depth_one(text, match.start()):
            return match.end()
    return None


def _depth_one(text: str, position: int) -> bool:
    """Whether `position` is outside strings and inside exactly the outermost object."""
    depth, in_string, escaped = 0, False, False
    for char in text[:position]:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
    return depth == 1 and not in_string


def _next_char(text: str, at: int) -> tuple[str | None, int]:
    """The next unescaped character and where it ends; None at the closing quote.

    Gives back `at` itself when the text does not reach far enough yet.
    """
    if at >= len(text):
        return "", at
    char = text[at]
    if char == '"':
        return None, at + 1
    if char != "\\":
        return char, at + 1
    if at + 1 >= len(text):
        return "", at
    code = text[at + 1]
    if code != "u":
        return _SIMPLE.get(code, code), at + 2
    return _unicode_escape(text, at)


def _unicode_escape(text: str, at: int) -> tuple[str, int]:
    """A \\uXXXX escape at `at`, with its second half when it is a surrogate pair."""
    if at + 6 > len(text):
        return "", at
    if not _HEX.fullmatch(text, at + 2, at + 6):
        return "\ufffd", at + 2
    unit = int(text[at + 2 : at + 6], 16)
    if not 0xD800 <= unit <= 0xDBFF:
        return ("\ufffd" if 0xDC00 <= unit <= 0xDFFF else chr(unit)), at + 6
    if at + 12 > len(text):
        return (
            ("", at) if text.startswith("\\u"[: len(text) - at - 6], at + 6) else ("\ufffd", at + 6)
        )
    if text.startswith("\\u", at + 6) and _HEX.fullmatch(text, at + 8, at + 12):
        pair = json.loads(f'"{text[at : at + 12]}"')
        return (pair if len(pair) == 1 else "\ufffd"), at + 12
    return "\ufffd", at + 6
