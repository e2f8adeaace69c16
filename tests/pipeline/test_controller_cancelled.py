"""An update of an AccController that its caller hears no result of leaves the state as it was."""

import asyncio
import signal
from dataclasses import replace
from typing import Any

import pytest
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest

from acc_ace.controller import AccController
from config import Role, Settings
from core.adapters.in_memory_journal import InMemoryJournal
from core.bootstrap import build_container
from core.container import Container
from core.errors import ConflictError, StoreError
from core.ports.journal import Journal
from schemas.ccs import empty_ccs
from schemas.commit import CommitKind, JournalEntry
from schemas.tenancy import SessionKey
from tests.fakes.default_replies import default_reply, prompt_text
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY
from tests.pipeline.test_cancelled_commits import BAN, SlowJournal, cancel_in_the_commit
from tests.pipeline.test_loops_that_end_in_commits import ThreadedJournal, leave_in_the_commit
from tests.pipeline.test_words_of_failed_turns import LostAnswers

COMMIT, ABORT = CommitKind.COMMIT, CommitKind.ABORT


class InterruptedJournal(InMemoryJournal):
    """Ctrl-C is pressed while a ban is written; the write goes on."""

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        await asyncio.shield(asyncio.create_task(self._write(key, entry, expected_version)))

    async def _write(self, key: SessionKey, entry: JournalEntry, expected_version: int) -> None:
        if entry.kind is COMMIT and BAN in entry.state.ccs.constraints:
            signal.raise_signal(signal.SIGINT)
        await super().append(key, entry, expected_version=expected_version)


def container_over(journal: Journal) -> Container:
    return replace(build_container(Settings(store="memory", learning="off")), journal=journal)


def controller(container: Container, llm: ScriptedLlm | None = None) -> AccController:
    llm = llm or ScriptedLlm()
    models: dict[Role, BaseLlm] = {"qualifier": llm, "compressor": llm}
    return AccController(container, session=KEY.session, user=KEY.user, models=models)


async def kinds(journal: Journal) -> list[CommitKind]:
    """How the state came about, oldest first."""
    return [entry.kind for entry in await journal.history(KEY)][::-1]


@pytest.fixture
def journal() -> SlowJournal:
    """Writes at once, until it is told to hold the next write."""
    slow = SlowJournal()
    slow.let.set()
    return slow


def hold_the_next_write(journal: SlowJournal) -> None:
    journal.begun.clear()
    journal.let.clear()


async def test_a_release_that_is_cancelled_in_its_commit_can_be_sent_again(
    journal: SlowJournal,
) -> None:
    acc = controller(container_over(journal))
    banned = await acc.update_state(BAN, None)
    hold_the_next_write(journal)
    await cancel_in_the_commit(acc.update_state("release c-0001", banned), journal)
    assert await kinds(journal) == [COMMIT, COMMIT, ABORT]
    released = await acc.update_state("release c-0001", banned)
    assert released.constraints == []
    assert acc.last_commit is not None
    assert acc.last_commit.warnings == []


async def test_a_ban_that_is_cancelled_in_its_commit_is_no_turn(journal: SlowJournal) -> None:
    acc = controller(container_over(journal))
    known = await acc.update_state("db-01 is down.", None)
    hold_the_next_write(journal)
    await cancel_in_the_commit(acc.update_state(BAN, known), journal)
    head = await journal.head(KEY)
    assert head is not None
    assert (head.state.turn, head.state.ccs) == (1, known)
    await acc.record("Noted.")
    assert (await acc.update_state("What is next?", known)).constraints == []
    assert acc.last_commit is not None
    assert acc.last_commit.state.turn == 2


async def test_a_state_that_the_caller_brought_along_goes_with_the_cancelled_update(
    journal: SlowJournal,
) -> None:
    acc = controller(container_over(journal))
    known = await acc.update_state("db-01 is down.", None)
    brought = empty_ccs().model_copy(update={"constraints": ["Answer in Japanese."]})
    hold_the_next_write(journal)
    await cancel_in_the_commit(acc.update_state(BAN, brought), journal)
    head = await journal.head(KEY)
    assert head is not None
    assert head.state.ccs == known


async def test_who_waits_for_the_session_has_it_after_the_undo(journal: SlowJournal) -> None:
    container = container_over(journal)
    hold_the_next_write(journal)
    turn = asyncio.create_task(controller(container).update_state(BAN, None))
    await journal.begun.wait()
    waiting = asyncio.create_task(controller(container).update_state("Hello.", None))
    turn.cancel()
    journal.let.set()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert (await waiting).constraints == []
    assert await kinds(journal) == [COMMIT, ABORT, COMMIT]


def test_a_ctrl_c_in_the_commit_of_the_sync_form_is_undone() -> None:
    journal = InterruptedJournal()
    acc = controller(container_over(journal))
    known = acc.update_state_sync("db-01 is down.", None)
    with pytest.raises(KeyboardInterrupt):
        acc.update_state_sync(BAN, known)
    assert asyncio.run(kinds(journal)) == [COMMIT, COMMIT, ABORT]
    assert acc.update_state_sync("What is next?", known).constraints == []


def test_an_update_whose_loop_ends_in_its_commit_is_undone() -> None:
    journal = ThreadedJournal()
    acc = controller(container_over(journal))

    async def turn() -> None:
        await acc.update_state(BAN, None)

    async def program() -> None:
        await leave_in_the_commit(asyncio.create_task(turn()), journal)

    asyncio.run(program())
    assert asyncio.run(kinds(journal)) == [COMMIT, ABORT]


async def test_a_commit_whose_store_was_lost_before_it_could_tell_is_undone() -> None:
    lost = LostAnswers(InMemoryJournal())
    journal: Any = lost
    acc = controller(container_over(journal))
    known = await acc.update_state("db-01 is down.", None)
    lost.loses = True
    with pytest.raises(StoreError, match="the connection was lost"):
        await acc.update_state(BAN, known)
    assert await kinds(journal) == [COMMIT, COMMIT, ABORT]


async def test_a_commit_that_came_too_late_undoes_nothing_of_the_one_before_it() -> None:
    journal = InMemoryJournal()
    # Each with a lock of its own: as by another process, after this one has lost the session.
    first, second = container_over(journal), container_over(journal)

    async def overtaken(request: LlmRequest) -> dict[str, Any]:
        await controller(second).update_state(BAN, None)
        return default_reply("compressor", prompt_text(request))

    with pytest.raises(ConflictError):
        await controller(first, ScriptedLlm().on("compressor", overtaken)).update_state("Hi.", None)
    assert await kinds(journal) == [COMMIT]
    head = await journal.head(KEY)
    assert head is not None
    assert head.state.ccs.constraints == [BAN]
