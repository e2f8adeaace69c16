"""Stream the `final_answer` out of a GeneratorOutput that is still being written.

The Generator answers in JSON, but a reader wants the answer as it grows. A reply that does not
begin like JSON is an answer in plain text and is passed on as it is.
"""

import re
from bisect import bisect_left

from pydantic_core import from_json

_OFTEN = 8_000
"""Characters of a reply that are read again with every chunk."""

_SHARE = 32
"""Of a longer one, this part must be new before it is read again: the work stays linear."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*', re.DOTALL)
_LOOSE = re.compile(
    r'[\x00-\x1f]|\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4}|u[0-9a-fA-F]{0,3}\Z|\Z)|\\.', re.DOTALL
)
_FENCE = "```"


class AnswerStream:
    """Feed chunks of a reply, get chunks of the answer."""

    def __init__(self) -> None:
        self._text = self._unread = self._told = ""
        self._is_plain: bool | None = None
        self._is_broken = False

    def feed(self, chunk: str) -> str:
        """The characters of the answer that can be read now; '' if there are none yet."""
        if self._is_plain:
            return chunk
        self._unread += chunk
        if self._is_broken or len(self._unread) * _SHARE < len(self._text) - _OFTEN:
            return ""
        self._text, self._unread = self._text + self._unread, ""
        if self._is_plain is None:
            self._is_plain = _is_plain(self._text)
        return self._text if self._is_plain else self._fresh()

    def _fresh(self) -> str:
        reply = self._text[self._text.find("{") :] if "{" in self._text else "{"
        value = _read(reply)
        if value is None:
            reply = _mended(reply)
            value = _read(reply)
        if value is None:
            self._is_broken = True
            value = _read_beginning(reply)
        answer = value.get("final_answer")
        if not isinstance(answer, str) or not answer.startswith(self._told):
            return ""
        fresh = answer[len(self._told) :]
        self._told = answer
        return fresh


def _is_plain(text: str) -> bool | None:
    """Whether a reply is no JSON; None when too little of it has arrived to tell."""
    head = text.lstrip()
    if not head or (_FENCE.startswith(head) and head != _FENCE):
        return None
    return not head.startswith(("{", _FENCE))


def _read(reply: str) -> dict[str, object] | None:
    """What has arrived of an object; None when it is no JSON so far."""
    try:
        value: dict[str, object] = from_json(reply, allow_partial="trailing-strings")
    except ValueError:
        return None
    return value


def _read_beginning(reply: str) -> dict[str, object]:
    """What can be read of a reply before the place where it stops being JSON."""
    ends = range(1, len(reply) + 1)
    broken = bisect_left(ends, True, key=lambda end: _read(reply[:end]) is None)
    return _read(reply[:broken]) or {}


def _mended(reply: str) -> str:
    """With line breaks and unknown escapes in strings, as small models write them, escaped."""
    return _STRING.sub(lambda string: _LOOSE.sub(_escaped, string.group()), reply)


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found < " ":
        return f"\\u{ord(found):04x}"
    return "" if found == "\\" else found
