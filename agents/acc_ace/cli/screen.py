"""Where a turn is shown: as JSON lines for programs. `terminal` has the one for people."""

from typing import Protocol, TextIO

from rich.console import Console, RenderableType

from acc_ace.cli.output import json_line, reported
from acc_ace.errors import AccAceError
from acc_ace.schemas.report import TurnDone, TurnEvent, TurnPaused

_SHOWN_INPUT = 500
"""Characters of a failed input that an error object repeats."""


class Screen(Protocol):
    """Shows turns, views and notices."""

    def begin(self, text: str) -> None:
        """A turn starts."""
        ...

    def event(self, event: TurnEvent) -> None:
        """Something happened in the turn."""
        ...

    def end(self) -> None:
        """The turn is over, however it ended; always called."""
        ...

    def failed(self, error: AccAceError, *, turn: int | None, text: str) -> None:
        """The turn, or a command (turn is None), ended in an error."""
        ...

    def view(self, view: RenderableType) -> None:
        """Show what a command asked for."""
        ...

    def notice(self, text: str) -> None:
        """Tell something that is no part of a turn."""
        ...


class JsonScreen:
    """One JSON object per turn on stdout and nothing else; diagnostics go to stderr."""

    def __init__(self, out: TextIO, diagnostics: Console) -> None:
        self._out = out
        self._diagnostics = diagnostics

    def begin(self, text: str) -> None:
        """Nothing to say yet."""

    def event(self, event: TurnEvent) -> None:
        """Print the report that ends the turn, or what the turn waits for."""
        if isinstance(event, TurnDone):
            self._print(event.report.model_dump(mode="json", by_alias=True))
        elif isinstance(event, TurnPaused):
            self._print(event.model_dump(mode="json", by_alias=True))

    def end(self) -> None:
        """Nothing is open."""

    def failed(self, error: AccAceError, *, turn: int | None, text: str) -> None:
        """Print `{turn, input, error: {code, message}}` in place of a report."""
        if turn is not None:
            problem = {"code": error.code, "message": str(error)}
            self._print({"turn": turn, "input": text[:_SHOWN_INPUT], "error": problem})
        self._diagnostics.print(reported(error), style="red", soft_wrap=True)

    def view(self, view: RenderableType) -> None:
        """Views are for people: stderr."""
        self._diagnostics.print(view)

    def notice(self, text: str) -> None:
        """Diagnostics."""
        self._diagnostics.print(text, style="dim", soft_wrap=True)

    def _print(self, value: dict[str, object]) -> None:
        # Flushed each turn, so that a program that feeds inputs can wait for the answer.
        self._out.write(json_line(value) + "\n")
        self._out.flush()
