"""The Screen protocol, and the JSON Lines screen for programs; `terminal` has the other."""

from typing import Protocol, TextIO

from rich.console import Console, RenderableType

from acc_ace.cli.output import json_line, reported
from acc_ace.core.schemas.report import TurnDone, TurnEvent, TurnPaused
from acc_ace.errors import AccAceError

_SHOWN_INPUT = 500
"""Maximum characters of the input in an error object."""


class Screen(Protocol):
    """Shows turns, views and notices."""

    def begin(self, text: str) -> None:
        """A turn starts."""
        ...

    def event(self, event: TurnEvent) -> None:
        """Show an event of the turn."""
        ...

    def end(self) -> None:
        """The turn has ended; always called."""
        ...

    def failed(self, error: AccAceError, *, turn: int | None, text: str) -> None:
        """The turn, or a command (turn is None), failed."""
        ...

    def view(self, view: RenderableType) -> None:
        """Show the view of a command."""
        ...

    def notice(self, text: str) -> None:
        """Show a message that is not part of a turn."""
        ...


class JsonScreen:
    """Only one JSON object per turn on stdout; diagnostics go to stderr."""

    def __init__(self, out: TextIO, diagnostics: Console) -> None:
        self._out = out
        self._diagnostics = diagnostics

    def begin(self, text: str) -> None:
        """No output."""

    def event(self, event: TurnEvent) -> None:
        """Print the report at the end of the turn, or the calls that it waits for."""
        if isinstance(event, TurnDone):
            self._print(event.report.model_dump(mode="json", by_alias=True))
        elif isinstance(event, TurnPaused):
            self._print(event.model_dump(mode="json", by_alias=True))

    def end(self) -> None:
        """No output."""

    def failed(self, error: AccAceError, *, turn: int | None, text: str) -> None:
        """Print `{turn, input, error: {code, message}}` in place of a report."""
        if turn is not None:
            problem = {"code": error.code, "message": str(error)}
            self._print({"turn": turn, "input": text[:_SHOWN_INPUT], "error": problem})
        self._diagnostics.print(reported(error), style="red", soft_wrap=True)

    def view(self, view: RenderableType) -> None:
        """Print the view on stderr."""
        self._diagnostics.print(view)

    def notice(self, text: str) -> None:
        """Print the message on stderr."""
        self._diagnostics.print(text, style="dim", soft_wrap=True)

    def _print(self, value: dict[str, object]) -> None:
        # Flushed per turn, so that a program can wait for the answer before its next input.
        self._out.write(json_line(value) + "\n")
        self._out.flush()
