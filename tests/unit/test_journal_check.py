"""The checker of journals finds what it is there to find."""

from collections.abc import Callable

import pytest

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    ConstraintPin,
    JournalEntry,
    Release,
)
from bench.journal_check import journal_problems
from tests.fakes.clock import START


def pin(number: int, text: str) -> ConstraintPin:
    return ConstraintPin(
        id=f"c-{number:04}", text=text, authority=Authority.USER, origin_turn=1, quote=text
    )


def state(version: int, turn: int, *pins: ConstraintPin, gist: str = "") -> CommittedState:
    ccs = CommittedState().ccs.model_copy(
        update={"constraints": [each.text for each in pins], "semantic_gist": gist}
    )
    return CommittedState(
        version=version, turn=turn, ccs=ccs, pins=list(pins), next_pin=1 + len(pins)
    )


def journal(*steps: tuple[CommitKind, CommittedState]) -> list[JournalEntry]:
    """Entries with true diffs."""
    entries: list[JournalEntry] = []
    previous = CommittedState()
    for kind, after in steps:
        entries.append(
            JournalEntry(
                kind=kind,
                state=after,
                diff=CcsDiff.between(previous, after),
                invocation_id=f"i-{after.version}",
                created_at=START,
            )
        )
        previous = after
    return entries


BAN = pin(1, "No restarts.")
COMMIT, ROLLBACK = CommitKind.COMMIT, CommitKind.ROLLBACK
SOUND = journal(
    (COMMIT, state(1, 1, BAN)),
    (COMMIT, state(2, 2, BAN, gist="more")),
    (ROLLBACK, state(3, 1, BAN)),
    (CommitKind.KEPT, state(4, 2, BAN)),
)


def test_a_sound_journal_has_no_problems() -> None:
    assert journal_problems(SOUND) == []
    assert journal_problems([]) == []


def test_a_release_lets_a_constraint_go() -> None:
    entries = journal((COMMIT, state(1, 1, BAN)), (COMMIT, state(2, 2)))
    freed = Release(id=BAN.id, text=BAN.text, quote="Restarts are fine again.")
    diff = entries[1].diff.model_copy(update={"constraints_released": [freed]})
    last = entries[1].model_copy(
        update={"diff": diff, "state": entries[1].state.model_copy(update={"next_pin": 2})}
    )
    assert journal_problems([entries[0], last]) == []


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (SOUND[1:], "version 2: follows version 0"),
        ([SOUND[0], *SOUND[2:]], "version 3: follows version 1"),
        (journal((COMMIT, state(1, 2))), "turn 2 follows turn 0"),
        (journal((ROLLBACK, state(1, 0, gist="new"))), "a state that never existed"),
        (
            journal((COMMIT, state(1, 1, BAN)), (COMMIT, state(2, 2))),
            "constraint c-0001 left without a release",
        ),
        (
            journal((COMMIT, state(1, 1, BAN)), (COMMIT, state(2, 2, pin(1, "Restarts.")))),
            "constraint c-0001 was altered",
        ),
        (
            journal((COMMIT, state(1, 1, BAN)), (ROLLBACK, state(2, 0))),
            "gives constraint ids a second time",
        ),
    ],
)
def test_a_broken_promise_is_named(entries: list[JournalEntry], problem: str) -> None:
    assert any(problem in found for found in journal_problems(entries))


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda last: {"invocation_id": "i-1"}, "its turn was committed before"),
        (lambda last: {"diff": SOUND[0].diff}, "its diff is not what changed"),
        (
            lambda last: {"state": last.state.model_copy(update={"pins": []})},
            "its constraints are not those of its pins",
        ),
    ],
)
def test_an_altered_entry_is_named(
    spoil: Callable[[JournalEntry], dict[str, object]], problem: str
) -> None:
    last = SOUND[-1].model_copy(update=spoil(SOUND[-1]))
    assert any(problem in found for found in journal_problems([*SOUND[:-1], last]))
