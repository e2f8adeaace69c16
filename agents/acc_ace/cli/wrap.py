"""Wrap a text that arrives in pieces: by words, and between wide characters where it may."""

from rich.cells import cell_len

_NOT_FIRST = frozenset(
    "、。，．・：；？！)]}」』】）〕〉》”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…‥,.!?:;"
)
"""Characters that may not start a line (kinsoku)."""

_NOT_LAST = frozenset("([{「『【（〔〈《“‘")
"""Characters that may not end a line."""


class StreamWrap:
    """Breaks lines at `width` cells. Holds back only the last word, and no more than a line.

    Line breaks of the text itself stay; spaces around a break that was put in are dropped.
    """

    def __init__(self, width: int) -> None:
        self._width = max(2, width)
        self._column = 0
        self._spaces = ""
        self._word = ""

    def feed(self, text: str) -> str:
        """What can be printed now that `text` has arrived."""
        return "".join(self._take(character) for character in text)

    def flush(self) -> str:
        """What was held back; the wrap is ready for a new text after it."""
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
        """Print the held word on this line if it fits, else on the next one."""
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
