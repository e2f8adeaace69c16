"""The terminal screen: progress of the stages, the streamed answer, the memory line."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from time import monotonic

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.status import Status
from rich.text import Text

from acc_ace.cli.output import Paragraphs, printable, reported
from acc_ace.cli.wrap import StreamWrap
from acc_ace.core.schemas.report import (
    Answer,
    AnswerChunk,
    ReportedDelta,
    ReportedVerdict,
    Stage,
    StageStarted,
    TokenUse,
    ToolFinished,
    ToolStarted,
    TurnCost,
    TurnDone,
    TurnEvent,
    TurnPaused,
    TurnReport,
)
from acc_ace.errors import AccAceError
from acc_ace.models.names import says_label

_SEPARATOR = " · "
_RESTORED = {"constraint_restored": "constraint", "goal_restored": "goal"}


def memory_line(report: TurnReport) -> str:
    """A turn's memory operations, in the order of the stages.

    For example: '+ c-0003 · ? release c-0001 · 2 artifacts qualified, 1 rejected: stale ·
    CCS 412/1024 tokens · +1 bullet · 2.1k tokens'. Empty parts are omitted; the size of the CCS
    and the turn's tokens (input and output of all model calls) are always shown.
    """
    return _SEPARATOR.join(_parts(report))


def short_count(number: int) -> str:
    """A count in at most four characters: 640, 2.1k, 13k, 1.2M."""
    if number < 1_000:
        return str(number)
    scaled, unit = (number / 1_000, "k") if number < 999_500 else (number / 1_000_000, "M")
    return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"


def _parts(report: TurnReport) -> Iterator[str]:
    yield from _invariants(report)
    if report.qualified:
        yield _qualified(report.qualified)
    yield f"CCS {report.ccs_tokens}/{report.ccs_budget} tokens"
    if report.tool_calls:
        yield _counted(len(report.tool_calls), "tool call")
    yield from _deltas(report.deltas)
    if report.learning.left:
        yield f"{_counted(len(report.learning.left), 'bullet')} left the full playbook"
    yield _use(report.tokens.values())
    if report.cost is not None:
        yield from _cost(report.cost)


def _cost(cost: TurnCost) -> Iterator[str]:
    """The turn's money, its session's and replay's for the session; none where none is paid."""
    if cost.turn.usd is None:
        yield "cost unknown"
    elif cost.turn.usd or not cost.turn.complete:
        yield f"cost {cost.turn} (session {cost.session}, replay {cost.session_replay})"


def _use(stages: Iterable[TokenUse]) -> str:
    """Tokens and calls of all stages; what failed, and whether tokens are estimates."""
    use = sum(stages, TokenUse())
    thoughts = f" ({short_count(use.thinking)} thinking)" if use.thinking else ""
    tokens = f"{'≈' if use.estimated else ''}{short_count(use.total)} tokens{thoughts}"
    failed = f" ({use.failed} failed)" if use.failed else ""
    return f"{tokens}, {_counted(use.calls, 'call')}{failed}"


def _invariants(report: TurnReport) -> Iterator[str]:
    """Changes of constraints and goal, and questions that wait for the user's yes or no."""
    diff = report.ccs_diff
    if diff.constraints_added:
        yield f"+ {', '.join(pin.id for pin in diff.constraints_added)}"
    if diff.constraints_released:
        yield f"- {', '.join(pin.id for pin in diff.constraints_released)}"
    for question in report.questions:
        yield f"? {question.kind.value} {question.rule_id or question.id}"
    if diff.goal_before != diff.goal_after:
        yield "goal changed" if diff.goal_before else "goal set"
    restored = Counter(
        _RESTORED[repair.reason] for repair in diff.repairs if repair.reason in _RESTORED
    )
    for noun, count in restored.items():
        yield f"{_counted(count, noun)} restored"


def _qualified(verdicts: Sequence[ReportedVerdict]) -> str:
    accepted = sum(verdict.ok for verdict in verdicts)
    reasons = Counter(verdict.reason for verdict in verdicts if not verdict.ok)
    line = f"{_counted(accepted, 'artifact')} qualified"
    return f"{line}, {reasons.total()} rejected: {_reasons(reasons)}" if reasons else line


def _deltas(deltas: Sequence[ReportedDelta]) -> Iterator[str]:
    """Changed bullets, then held and rejected operations."""
    applied = Counter(delta.type.upper() for delta in deltas if delta.status == "applied")
    if applied["ADD"]:
        yield f"+{_counted(applied['ADD'], 'bullet')}"
    if applied["REMOVE"]:
        yield f"-{_counted(applied['REMOVE'], 'bullet')}"
    if applied["UPDATE"]:
        yield f"{_counted(applied['UPDATE'], 'bullet')} updated"
    if applied["TAG"]:
        yield f"{_counted(applied['TAG'], 'bullet')} tagged"
    for status in ("held", "rejected"):
        reasons = Counter(delta.reason for delta in deltas if delta.status == status)
        if reasons:
            yield f"{_counted(reasons.total(), 'delta')} {status}: {_reasons(reasons)}"


def _reasons(reasons: Counter[str]) -> str:
    return ", ".join(
        reason if count == 1 else f"{reason} ×{count}" for reason, count in reasons.most_common()
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_DOING: dict[Stage, str] = {
    "recaller": "recall",
    "qualifier": "qualify",
    "compressor": "compress",
    "generator": "answer",
    "reflector": "reflect",
    "curator": "curate",
}
"""Progress label of each stage; the initializer is too fast to be seen."""

_SHOWN_INPUT = 2_000
"""Maximum characters echoed of a scripted input."""

_UNBROKEN = 1_000_000
"""Line width, in cells, when the output is not a terminal."""


class _Waiting:
    """What is being done, and for how many seconds it has been."""

    def __init__(self, line: str) -> None:
        self._line, self._since = line, monotonic()

    def __rich__(self) -> Text:
        seconds = int(monotonic() - self._since)
        return Text(f"{self._line} {seconds} s" if seconds else self._line, no_wrap=True)


class TerminalScreen:
    """Shows turns on a rich console; without a terminal, the same without live progress."""

    def __init__(self, console: Console, *, repeat_inputs: bool = False) -> None:
        self._console = console
        self._repeat_inputs = repeat_inputs
        self._status: Status | None = None
        self._doing: list[str] = []
        self._answer = ""
        self._wrap = self._new_wrap()

    def begin(self, text: str) -> None:
        """Echo a scripted input and start the progress line."""
        self._doing, self._answer = [], ""
        self._wrap = self._new_wrap()
        if self._repeat_inputs:
            shown = printable(text[:_SHOWN_INPUT]) + ("…" if len(text) > _SHOWN_INPUT else "")
            self._write(self._wrap.feed(f"\n> {shown}\n"))
        self._progress()

    def event(self, event: TurnEvent) -> None:
        """Show an event of the turn."""
        match event:
            case StageStarted() if event.stage in _DOING:
                self._doing.append(_DOING[event.stage])
                self._progress()
            case ToolStarted():
                self._doing.append(printable(event.name))
                self._progress()
            case ToolFinished(is_error=True):
                self._stop()
                self.notice(f"tool {event.name} failed; the model was informed")
            case AnswerChunk():
                self._stream(event.text)
            case Answer():
                self._finish_answer(event)
            case TurnDone():
                self._finish_turn(event.report)
            case TurnPaused():
                self._pause(event)

    def end(self) -> None:
        """Stop the progress line and end an open line."""
        self._stop()
        self._close_line()

    def failed(self, error: AccAceError, *, turn: int | None, text: str) -> None:
        """Print the error on one line."""
        self.end()
        self._report(reported(error), "red")

    def view(self, view: RenderableType) -> None:
        """Print the view."""
        self._console.print(view)

    def notice(self, text: str) -> None:
        """Print the message, dimmed."""
        self._report(text, "dim")

    def _report(self, text: str, style: str) -> None:
        if self._console.is_terminal:
            self._console.print(Paragraphs((text, style)))
        else:
            self._console.print(printable(text), soft_wrap=True)

    def _progress(self) -> None:
        """One live line: 'recall · qualify · compress…'. Nothing while the answer is open."""
        if not self._console.is_terminal or self._line_is_open:
            return
        line = " · ".join(self._doing or ["start"]) + "…"
        if cell_len(line) > self._console.width - 12:
            line = self._doing[-1] + "…"
        waiting = _Waiting(line)
        if self._status is None:
            self._status = self._console.status(waiting, spinner="dots")
            self._status.start()
        self._status.update(waiting)

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
        """Complete the streamed text, or print the answer again if it was revised."""
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
        self._report(memory_line(report), "cyan")
        for warning in report.warnings:
            self._report(f"! {warning}", "yellow")

    def _pause(self, event: TurnPaused) -> None:
        self._stop()
        self._close_line()
        for call in event.calls:
            self.notice(f"{call.name} ({call.id}) waits for a person's answer")
            if hint := call.hint:
                self._report(f"? {hint}", "yellow")
        self._report(event.detail, "yellow")

    def _close_line(self) -> None:
        if self._line_is_open:
            self._write(self._wrap.flush() + "\n")
        self._answer = ""

    def _new_wrap(self) -> StreamWrap:
        """A new wrap; lines are broken for a terminal only, not in a file or a pipe."""
        return StreamWrap(self._console.width if self._console.is_terminal else _UNBROKEN)

    def _write(self, text: str) -> None:
        """Write directly: rich would wrap each piece as a paragraph."""
        self._console.file.write(text)
        self._console.file.flush()
