"""The screen for people: progress while stages run, the answer as it streams, the memory line."""

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.status import Status

from acc_ace.cli.failure import told
from acc_ace.cli.memory_line import memory_line
from acc_ace.cli.printable import printable
from acc_ace.cli.printable_lines import Lines
from acc_ace.cli.wrap import StreamWrap
from acc_ace.errors import AccAceError
from acc_ace.models.factory import says_label
from acc_ace.schemas.report import (
    Answer,
    AnswerChunk,
    Stage,
    StageStarted,
    ToolFinished,
    ToolStarted,
    TurnDone,
    TurnEvent,
    TurnPaused,
    TurnReport,
)

_DOING: dict[Stage, str] = {
    "recaller": "recall",
    "qualifier": "qualify",
    "compressor": "compress",
    "generator": "answer",
    "reflector": "reflect",
    "curator": "curate",
}
"""What is shown while a stage runs; the initializer is too quick to be seen."""

_SHOWN_INPUT = 2_000
"""Characters of a scripted input that are repeated."""

_UNBROKEN = 1_000_000
"""Width of a line, in cells, where there is no terminal to break it for."""


class TerminalScreen:
    """Shows turns on a rich console; without a terminal it prints the same without motion."""

    def __init__(self, console: Console, *, repeat_inputs: bool = False) -> None:
        self._console = console
        self._repeat_inputs = repeat_inputs
        self._status: Status | None = None
        self._doing: list[str] = []
        self._answer = ""
        self._wrap = self._new_wrap()

    def begin(self, text: str) -> None:
        """Repeat a scripted input, and show that work is under way."""
        self._doing, self._answer = [], ""
        self._wrap = self._new_wrap()
        if self._repeat_inputs:
            shown = printable(text[:_SHOWN_INPUT]) + ("…" if len(text) > _SHOWN_INPUT else "")
            self._write(self._wrap.feed(f"\n> {shown}\n"))
        self._progress()

    def event(self, event: TurnEvent) -> None:
        """Follow the turn."""
        match event:
            case StageStarted() if event.stage in _DOING:
                self._doing.append(_DOING[event.stage])
                self._progress()
            case ToolStarted():
                self._doing.append(printable(event.name))
                self._progress()
            case ToolFinished(is_error=True):
                self._stop()
                self.notice(f"tool {event.name} failed; the model was told")
            case AnswerChunk():
                self._stream(event.text)
            case Answer():
                self._finish_answer(event)
            case TurnDone():
                self._finish_turn(event.report)
            case TurnPaused():
                self._pause(event)

    def end(self) -> None:
        """Stop the motion; leave no line open."""
        self._stop()
        self._close_line()

    def failed(self, error: AccAceError, *, turn: int | None, text: str) -> None:
        """Tell the error on one line."""
        self.end()
        self._tell(told(error), "red")

    def view(self, view: RenderableType) -> None:
        """Show it."""
        self._console.print(view)

    def notice(self, text: str) -> None:
        """Tell it, dimmed."""
        self._tell(text, "dim")

    def _tell(self, text: str, style: str) -> None:
        if self._console.is_terminal:
            self._console.print(Lines((text, style)))
        else:
            self._console.print(printable(text), soft_wrap=True)

    def _progress(self) -> None:
        """One live line: 'recall · qualify · compress…'. Nothing while the answer is open."""
        if not self._console.is_terminal or self._line_is_open:
            return
        line = " · ".join(self._doing or ["start"]) + "…"
        if cell_len(line) > self._console.width - 4:
            line = self._doing[-1] + "…"
        if self._status is None:
            self._status = self._console.status(line, spinner="dots")
            self._status.start()
        self._status.update(line)

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    @property
    def _line_is_open(self) -> bool:
        return bool(self._answer) and not self._answer.endswith("\n")

    def _stream(self, text: str) -> None:
        self._stop()
        self._answer += text
        self._write(self._wrap.feed(printable(text)))

    def _finish_answer(self, event: Answer) -> None:
        """Complete what has streamed, or print the answer when it is another one."""
        if event.text.startswith(self._answer):
            self._stream(event.text[len(self._answer) :].rstrip())
        elif event.text.rstrip() != self._answer.rstrip():
            self._close_line()
            self.notice("(the answer was revised:)")
            self._stream(event.text.rstrip())
        self._close_line()
        if event.note and not says_label(event.text):
            self.notice(f"{event.model}: {event.note}")
        self._doing = []
        self._progress()

    def _finish_turn(self, report: TurnReport) -> None:
        self._stop()
        self._tell(memory_line(report), "cyan")
        for warning in report.warnings:
            self._tell(f"! {warning}", "yellow")

    def _pause(self, event: TurnPaused) -> None:
        self._stop()
        self._close_line()
        for call in event.calls:
            self.notice(f"{call.name} ({call.id}) waits for a person's answer")
        self._tell(event.detail, "yellow")

    def _close_line(self) -> None:
        if self._line_is_open:
            self._write(self._wrap.flush() + "\n")
        self._answer = ""

    def _new_wrap(self) -> StreamWrap:
        """Lines are broken for a terminal only; a file or a pipe gets them whole."""
        return StreamWrap(self._console.width if self._console.is_terminal else _UNBROKEN)

    def _write(self, text: str) -> None:
        """Write past rich, which would wrap each piece as if it were a paragraph."""
        self._console.file.write(text)
        self._console.file.flush()
