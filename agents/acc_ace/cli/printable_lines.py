"""A rich renderable for text of users and models: made printable, wrapped as people read it."""

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from acc_ace.cli.printable import printable
from acc_ace.cli.wrap import StreamWrap

_NARROWEST = 10
"""Cells that a column of text should have."""


class Lines:
    """Paragraphs, each with one style. Rich alone takes Japanese for one long word."""

    def __init__(self, *paragraphs: tuple[str, str]) -> None:
        """Each paragraph is (text, style); the text is data and never read as markup."""
        self._paragraphs = [(printable(text), style) for text, style in paragraphs]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style in self._paragraphs:
            wrap = StreamWrap(options.max_width)
            yield Text(wrap.feed(text) + wrap.flush(), style, no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = [line for text, _ in self._paragraphs for line in text.split("\n")]
        widest = max((cell_len(line) for line in lines), default=0)
        return Measurement(min(widest, _NARROWEST), widest).with_maximum(options.max_width)
