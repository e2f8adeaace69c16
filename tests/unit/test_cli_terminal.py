"""The screen for people, event by event, on a terminal of a given width."""

import io
import itertools
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from acc_ace.cli.chat import banner
from acc_ace.cli.slash_commands import ccs_view, diff_view
from acc_ace.cli.terminal import TerminalScreen
from acc_ace.errors import ModelUnavailable
from acc_ace.models.factory import ModelInfo
from schemas.base import Authority, SessionKey
from schemas.ccs import empty_ccs
from schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    ConstraintPin,
    FieldChange,
    JournalEntry,
    Release,
    Repair,
)
from schemas.report import (
    Answer,
    AnswerChunk,
    StageStarted,
    TokenUse,
    ToolFinished,
    ToolStarted,
    TurnDone,
    TurnEvent,
)
from tests.fakes.fake_turn_api import AT, report

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
RULE = "営業時間内は再起動禁止。顧客名はチケットに書かないでください。"


def screened(*events: TurnEvent, width: int = 40, terminal: bool = True) -> str:
    out = io.StringIO()
    screen = TerminalScreen(Console(file=out, width=width, force_terminal=terminal))
    screen.begin("hello")
    for event in events:
        screen.event(event)
    screen.end()
    return out.getvalue()


def plain(text: str) -> str:
    """What remains on the screen: without escape sequences and spinner lines."""
    lines = _ESCAPE.sub("", text).replace("\r", "\n").split("\n")
    return "\n".join(line for line in lines if line.strip() and not line.rstrip().endswith("…"))


def test_progress_names_the_stages_so_far() -> None:
    shown = screened(*(StageStarted(stage=stage) for stage in ("recaller", "qualifier")))
    assert "recall · qualify…" in _ESCAPE.sub("", shown)


def test_progress_counts_the_seconds_of_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.chain([0.0, 0.0], itertools.repeat(7.0))
    monkeypatch.setattr("acc_ace.cli.terminal.monotonic", lambda: next(ticks))
    shown = screened(StageStarted(stage="compressor"))
    assert "compress… 7 s" in _ESCAPE.sub("", shown)


def test_progress_names_tools() -> None:
    shown = screened(StageStarted(stage="generator"), ToolStarted(name="calculate", args={}))
    assert "answer · calculate…" in _ESCAPE.sub("", shown)


def test_no_motion_without_a_terminal() -> None:
    events = (
        StageStarted(stage="recaller"),
        AnswerChunk(text="a b"),
        Answer(text="a b", model="m"),
    )
    assert screened(*events, terminal=False) == "a b\n"


def test_answer_that_did_not_stream_is_printed_whole() -> None:
    assert plain(screened(Answer(text="all of it", model="m"))) == "all of it"


def test_rest_of_a_half_streamed_answer_is_printed_once() -> None:
    shown = plain(screened(AnswerChunk(text="one "), Answer(text="one two\n", model="m")))
    assert shown == "one two"


def test_revised_answer_is_printed_after_what_streamed() -> None:
    shown = plain(screened(AnswerChunk(text="yes"), Answer(text="no", model="m")))
    assert shown == "yes\n(the answer was revised:)\nno"


def test_model_note_warnings_and_memory_line_follow_the_answer() -> None:
    reported = report().model_copy(update={"warnings": ["compressor: kept the last state"]})
    events = (
        Answer(text="hi", model="embedded/rules", note="extractive, not an LLM"),
        TurnDone(report=reported),
    )
    assert plain(screened(*events, width=60)).split("\n") == [
        "hi",
        "embedded/rules: extractive, not an LLM",
        "CCS 412/1024 tokens · 42 tokens, 1 call",
        "! compressor: kept the last state",
    ]


def test_failed_tool_is_told() -> None:
    shown = plain(screened(ToolFinished(name="read_file", is_error=True), width=60))
    assert shown == "tool read_file failed; the model was informed"


def test_error_in_mid_answer_starts_on_its_own_line() -> None:
    out = io.StringIO()
    screen = TerminalScreen(Console(file=out, width=80))
    screen.begin("hello")
    screen.event(AnswerChunk(text="half an ans"))
    screen.failed(ModelUnavailable("the line broke"), turn=1, text="hello")
    screen.end()
    assert out.getvalue() == "half an ans\nerror (model_unavailable): the line broke\n"


def test_escape_sequences_of_a_model_never_reach_the_terminal() -> None:
    shown = screened(AnswerChunk(text="a\x1b]0;owned\x07b"), Answer(text="", model="m"))
    assert "\x1b]0" not in shown


@pytest.mark.parametrize("width", [40, 80])
def test_japanese_lines_never_exceed_the_width(width: int) -> None:
    pin = ConstraintPin(
        id="c-0001", text=RULE * 4, authority=Authority.USER, origin_turn=1, quote=RULE
    )
    ccs = empty_ccs().model_copy(update={"constraints": [RULE * 4], "semantic_gist": RULE * 3})
    state = CommittedState(version=1, turn=1, ccs=ccs, pins=[pin])
    console = Console(file=io.StringIO(), width=width, record=True)
    console.print(ccs_view(state))
    viewed = console.export_text()
    assert "".join(viewed.split()).count("再起動禁止") >= 7
    answered = plain(screened(Answer(text=RULE * 5, model="m"), width=width))
    for line in (viewed + answered).split("\n"):
        assert cell_len(line.rstrip()) <= width


def test_diff_view_tells_rules_goal_fields_and_repairs() -> None:
    pin = ConstraintPin(
        id="c-0002", text="Ask Aiko", authority=Authority.USER, origin_turn=2, quote="Ask Aiko"
    )
    diff = CcsDiff(
        changes=[
            FieldChange(field="constraints", before=[], after=["Ask Aiko"]),
            FieldChange(field="focal_entities", before=["server:db-01"], after=["server:db-02"]),
            FieldChange(field="episodic_trace", before="old", after="new"),
        ],
        constraints_added=[pin],
        constraints_released=[Release(id="c-0001", text="No restarts", quote="lift the ban")],
        goal_after="Restore checkout",
        repairs=[Repair(field="semantic_gist", reason="over_budget", detail="900 tokens")],
    )
    entry = JournalEntry(
        kind=CommitKind.COMMIT,
        state=CommittedState(version=2, turn=2),
        diff=diff,
        invocation_id="i",
        created_at=AT,
    )
    console = Console(file=io.StringIO(), width=80, record=True)
    console.print(diff_view(entry))
    rows = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert rows == [
        "commit: version 2, turn 2",
        "+ constraint [c-0002] Ask Aiko",
        "- constraint [c-0001] No restarts",
        "by: lift the ban",
        "goal + Restore checkout",
        "focal_entities - server:db-01",
        "+ server:db-02",
        "episodic_trace - old",
        "+ new",
        "repaired semantic_gist, over_budget: 900 tokens",
    ]


def test_banner_tells_models_session_and_how_to_resume() -> None:
    key = SessionKey("acc_ace", "aiko o", "s-1")
    embedded = ModelInfo("compressor", "embedded/rules", "embedded", "extractive, not an LLM")
    lines = banner(key, [embedded], turns=3, forgets=False)
    assert lines[:3] == (
        "ACC×ACE · session s-1 (resumed after turn 3) · user aiko o",
        "model: embedded/rules (extractive, not an LLM): all agents",
        "resume: acc-ace chat --session s-1 --user 'aiko o'",
    )


def test_banner_names_the_agents_of_each_model() -> None:
    uses = [
        ModelInfo("compressor", "embedded/rules", "embedded", "extractive, not an LLM"),
        ModelInfo("generator", "gemini-3.5-flash", "gemini", "Gemini API"),
        ModelInfo("curator", "embedded/rules", "embedded", "extractive, not an LLM"),
    ]
    lines = banner(SessionKey("acc_ace", "user", "s-1"), uses, turns=0, forgets=True)
    assert "model: embedded/rules (extractive, not an LLM): compressor, curator" in lines
    assert "model: gemini-3.5-flash (Gemini API): generator" in lines
    assert any("lost at exit" in line for line in lines)


def test_the_memory_line_shows_thoughts_failed_calls_and_that_tokens_are_estimates() -> None:
    first = TokenUse(input=900, output=80, thinking=20, calls=3, failed=2)
    second = TokenUse(input=100, output=10, calls=1, estimated=True)
    both = report().model_copy(update={"tokens": {"compressor": first, "generator": second}})
    assert "≈1.1k tokens (20 thinking), 4 calls (2 failed)" in plain(
        screened(TurnDone(report=both), width=100)
    )
