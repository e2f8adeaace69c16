"""Ctrl-C cancels a turn once, and the prompt comes back when the turn is undone."""

import asyncio
import io
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
from rich.console import Console

from acc_ace.cli.chat import Chat, converse, play
from acc_ace.cli.line_prompt import CtrlC
from acc_ace.cli.script import Script, ScriptedTurn
from acc_ace.cli.terminal import TerminalScreen
from schemas.base import Authority, SessionKey
from schemas.interaction import Attachment
from schemas.report import StageStarted, TurnEvent
from tests.fakes.fake_turn_api import FakeTurnApi

KEY = SessionKey("acc_ace", "user", "s-1")


def press(times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)


def nothing() -> None:
    """What is told at a second press, to nobody."""


class Undoing(FakeTurnApi):
    """'hang' commits, hangs, and takes many steps to undo; Ctrl-C is pressed on the way."""

    def __init__(self, *, at_once: int = 1, while_undoing: int = 0) -> None:
        super().__init__()
        self._at_once, self._while_undoing = at_once, while_undoing
        self.undone = 0

    async def stream(
        self,
        key: SessionKey,
        text: str,
        *,
        authority: Authority = Authority.USER,
        attachments: Sequence[Attachment] = (),
        idempotency_key: str = "",
    ) -> AsyncIterator[TurnEvent]:
        if text != "hang":
            async for event in super().stream(key, text, authority=authority):
                yield event
            return
        turn = asyncio.create_task(self._hang(key))
        yield StageStarted(stage="recaller")
        try:
            await asyncio.wait([turn])
        finally:
            turn.cancel()
            await asyncio.wait([turn])

    async def _hang(self, key: SessionKey) -> None:
        self._commit(key, "hang")
        try:
            press(self._at_once)
            await asyncio.Event().wait()
        finally:
            for step in range(20):
                if step < self._while_undoing:
                    press()
                await asyncio.sleep(0)
            await self.undo(key)
            self.undone += 1


def conversation(turns: FakeTurnApi, lines: list[str]) -> str:
    """What the terminal shows; fails when a task outlives the conversation."""
    out = io.StringIO()
    screen = TerminalScreen(Console(file=out, width=200))
    typed = iter(lines)
    with asyncio.Runner() as runner:
        code = converse(Chat(turns, KEY, screen), lambda: next(typed, None), runner, screen)
        assert not asyncio.all_tasks(runner.get_loop())
    assert code == 0
    return out.getvalue()


@pytest.mark.parametrize(("at_once", "while_undoing"), [(1, 0), (1, 1), (1, 5), (2, 0), (3, 2)])
def test_ctrl_c_while_the_undo_runs_neither_leaves_nor_loses_it(
    at_once: int, while_undoing: int
) -> None:
    turns = Undoing(at_once=at_once, while_undoing=while_undoing)
    shown = conversation(turns, ["hang", "/ccs"])
    assert turns.undone == 1
    assert turns.journal[KEY] == []
    reported, _, after = shown.partition("cancelled; the turn was undone")
    assert "no state yet: it is empty" in after
    assert reported.count("already cancelling") == (at_once + while_undoing > 1)


def test_leaving_right_after_three_presses_leaves_nothing_undone() -> None:
    turns = Undoing(at_once=3)
    assert "the turn was undone" in conversation(turns, ["hang"])
    assert turns.undone == 1


def test_a_script_stops_at_once_and_its_turn_is_undone() -> None:
    turns = Undoing(at_once=2, while_undoing=3)
    screen = TerminalScreen(Console(file=io.StringIO(), width=200))
    script = Script(turns=[ScriptedTurn("hang"), ScriptedTurn("never")])
    with asyncio.Runner() as runner:
        with pytest.raises(KeyboardInterrupt):
            play(Chat(turns, KEY, screen), script, runner, keep_going=True)
        assert not asyncio.all_tasks(runner.get_loop())
    assert turns.undone == 1
    assert turns.said == []


def test_ctrl_c_before_the_turn_has_begun_is_told_too() -> None:
    class Early(FakeTurnApi):
        """Presses Ctrl-C when the state is read for the first time."""

        def __init__(self) -> None:
            super().__init__()
            self._press = True

        async def state(self, key: SessionKey) -> None:
            if self._press:
                self._press = False
                press()
                await asyncio.Event().wait()

    assert "the turn was undone" in conversation(Early(), ["hello"])


def test_ctrl_c_at_the_prompt_gives_a_new_prompt_and_nothing_is_lost_between() -> None:
    def typing() -> Iterator[str]:
        press()
        yield "never said"
        yield "hello"

    typed = typing()
    turns = FakeTurnApi()
    screen = TerminalScreen(Console(file=io.StringIO(), width=200))
    with asyncio.Runner() as runner, CtrlC(runner, again=nothing) as ctrl_c:
        assert ctrl_c.read(lambda: next(typed)) == ""
        press(2)
        ctrl_c.run(Chat(turns, KEY, screen).say("hello"))
    assert turns.said == [("hello", Authority.USER)]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_blocks_the_loop_is_broken_off_by_the_next_press_and_its_end_is_awaited() -> None:
    ended = []

    async def blocking() -> None:
        press(2)
        threading.Event().wait(60)

    async def turn() -> None:
        try:
            await asyncio.gather(asyncio.create_task(blocking()))
        finally:
            await asyncio.sleep(0)
            ended.append("turn")

    with asyncio.Runner() as runner, CtrlC(runner, again=nothing, blocked_s=0.0) as ctrl_c:
        with pytest.raises(KeyboardInterrupt):
            ctrl_c.run(turn())
        assert ended == ["turn"]


def test_what_comes_after_what_was_broken_off_runs_to_its_end() -> None:
    async def blocking() -> None:
        press(2)
        threading.Event().wait(60)

    async def next_line() -> str:
        await asyncio.sleep(0)
        return "answered"

    with asyncio.Runner() as runner, CtrlC(runner, again=nothing, blocked_s=0.0) as ctrl_c:
        with pytest.raises(KeyboardInterrupt):
            ctrl_c.run(blocking())
        assert ctrl_c.run(next_line()) == "answered"
        assert not asyncio.all_tasks(runner.get_loop())
