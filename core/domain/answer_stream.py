"""Stream the `final_answer` out of a GeneratorOutput that is still being written.

The Generator answers in JSON, but a reader wants the answer as it grows. `AnswerStream` reads the
JSON as it arrives and gives back the new characters of `final_answer`, unescaped. A reply that
does not begin like JSON is an answer in plain text and is passed on as it is.
"""

import json
import re

_KEY = "final_answer"
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_IN_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_UNESCAPED = re.compile(r'[^"\\]+')
_STRUCTURE = re.compile(r'["{}\[\]:,]')


class AnswerStream:
    """Feed chunks of a reply, get chunks of the answer. The work is linear in the reply."""

    def __init__(self) -> None:
        self._text = ""
        self._seeker = _KeySeeker()
        self._plain: bool | None = None
        self._done = False

    def feed(self, chunk: str) -> str:
        """The characters of the answer that this chunk completes; '' if there are none yet."""
        if self._done:
            return ""
        self._text += chunk
        if self._plain is None and not self._decide():
            return ""
        if self._plain:
            fresh, self._text = self._text, ""
            return fresh
        if not self._seeker.found:
            self._text = self._seeker.seek(self._text)
        return self._from_json() if self._seeker.found else ""

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
        """What is readable of the answer; what is not yet stays for the next chunk."""
        out: list[str] = []
        at = 0
        while not self._done:
            if run := _UNESCAPED.match(self._text, at):
                out.append(run.group())
                at = run.end()
            piece, end = _next_char(self._text, at)
            if end == at:
                break
            at = end
            if piece is None:
                self._done = True
            else:
                out.append(piece)
        self._text = "" if self._done else self._text[at:]
        return "".join(out)


class _KeySeeker:
    """Looks for the value of the top-level key, chunk by chunk, reading each character once."""

    def __init__(self) -> None:
        self.found = False
        self._depth = 0
        self._in_string = False
        self._string = ""
        self._key_before = self._colon_before = False

    def seek(self, text: str) -> str:
        """Read on; gives back what is left: the start of the value once `found`."""
        at = 0
        while at < len(text) and not self.found:
            end = self._through_string(text, at) if self._in_string else self._through(text, at)
            if end == at:
                break
            at = end
        return text[at:]

    def _through_string(self, text: str, at: int) -> int:
        match = _IN_STRING.match(text, at)
        end = match.end() if match else at
        # No more of it than tells whether it is the key.
        self._string = (self._string + text[at : min(end, at + 16)])[:16]
        if end >= len(text) or text[end] != '"':
            return end
        self._in_string = False
        self._key_before = self._depth == 1 and self._string == _KEY
        return end + 1

    def _through(self, text: str, at: int) -> int:
        match = _STRUCTURE.search(text, at)
        end = match.start() if match else len(text)
        if text[at:end].strip():
            self._key_before = self._colon_before = False
        if match is None:
            return end
        self._take(match.group())
        return match.end()

    def _take(self, mark: str) -> None:
        if mark == '"':
            self.found = self._colon_before
            self._in_string, self._string = True, ""
        elif mark in "{[":
            self._depth += 1
        elif mark in "}]":
            self._depth -= 1
        self._colon_before = mark == ":" and self._key_before
        self._key_before = False


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
