"""Wrap streamed text: at words, and between wide characters by kinsoku rules."""

from rich.cells import cell_len

_NOT_FIRST = frozenset(
    "、。，．・：；？！)]}」』】）〕〉》”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…‥,.!?:;"
)
"""Characters that must not start a line (kinsoku)."""

_NOT_LAST = frozenset("([{「『【（〔〈《“‘")
"""Characters that must not end a line."""


class StreamWrap:
    """Breaks lines at `width` cells. Buffers only the last word, at most one line.

    Line breaks of the text itself stay; spaces around an inserted break are dropped.
    """

    def __init__(self, width: int) -> None:
        self._width = max(2, width)
        self._column = 0
        self._spaces = ""
        self._word = ""

    def feed(self, text: str) -> str:
        """Add `text`; returns the output that is ready to print."""
        return "".join(self._take(character) for character in text)

    def flush(self) -> str:
        """Return the buffered rest and reset for a new text."""
        rest = self._place()
        self._column, self._spaces = 0, ""
        return rest

    def _take(self, character: str) -> str:
        if character == "\n":
            out = self._place() + "\n"
            self._column, self._spaces = 0, ""
            return out
        if character == " ":
            out = self._place()
            self._spaces += " " if len(self._spaces) < self._width else ""
            return out
        out = self._place() if self._may_break_before(character) else ""
        if cell_len(self._word + character) > self._width:
            out += self._place()
        self._word += character
        return out

    def _may_break_before(self, character: str) -> bool:
        if not self._word or character in _NOT_FIRST or self._word[-1] in _NOT_LAST:
            return False
        return cell_len(character) == 2 or cell_len(self._word[-1]) == 2

    def _place(self) -> str:
        """Put the buffered word on this line if it fits, else on the next one."""
        word, self._word = self._word, ""
        if not word:
            return ""
        spaces, self._spaces = self._spaces, ""
        size = cell_len(word)
        if self._column + len(spaces) + size > self._width and (self._column or spaces):
            lead = "\n" if self._column else ""
            self._column = size
            return lead + word
        self._column += len(spaces) + size
        return spaces + word
