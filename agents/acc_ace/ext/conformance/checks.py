"""Conformance checks of the store protocols, for any implementation.

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_stores(check: Check) -> None:
        await check(MyStores(...))

Each check takes empty stores and raises a ConformanceError that names the broken guarantee.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecallQuery
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.core.schemas.ccs import empty_ccs
from acc_ace.core.schemas.commit import CcsDiff, CommitKind, CommittedState, JournalEntry
from acc_ace.core.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.core.schemas.interaction import GeneratorOutput, Interaction, Outcome, TurnInput
from acc_ace.core.schemas.playbook import Added, DeltaRecord, Playbook
from acc_ace.errors import AccAceError, ConflictError, NotFoundError
from acc_ace.memory.artifact_store import ArtifactStore
from acc_ace.turn.journal import Journal
from acc_ace.turn.ports import EvidenceStore
from acc_ace.turn.session_directory import SessionDirectory
from acc_ace.unit_of_work import UnitOfWork

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_KEY: Final = SessionKey("shop", "aiko", "s-1")
_OTHER_SESSION: Final = _KEY._replace(session="s-2")
_OTHER_USER: Final = _KEY._replace(user="ben")
_KEYS: Final = (_KEY, _OTHER_SESSION, _OTHER_USER)
_SCOPE: Final = PlaybookScope("shop")


class ConformanceError(AccAceError):
    """A store violates its protocol."""


class StoresToCheck(Protocol):
    """The stores of one empty database."""

    @property
    def journal(self) -> Journal:
        """The store of states."""
        ...

    @property
    def evidence(self) -> EvidenceStore:
        """The store of interactions."""
        ...

    @property
    def artifacts(self) -> ArtifactStore:
        """The store of artifacts."""
        ...

    @property
    def playbooks(self) -> PlaybookStore:
        """The store of playbooks."""
        ...

    @property
    def directory(self) -> SessionDirectory:
        """The store of session records."""
        ...

    @property
    def unit_of_work(self) -> Callable[[], UnitOfWork]:
        """Factory of transactions over several stores."""
        ...


Check = Callable[[StoresToCheck], Awaitable[None]]


async def journal_appends_by_compare_and_swap(stores: StoresToCheck) -> None:
    """An entry is appended only to the version it was made from; each session has its own."""
    journal = stores.journal
    _expect(await journal.head(_KEY) is None, "a session that never committed has no head")
    await journal.append(_KEY, _entry(1), expected_version=0)
    await _raises(
        ConflictError,
        journal.append(_KEY, _entry(1, "other"), expected_version=0),
        "an entry made from an old version is refused",
    )
    await journal.append(_KEY, _entry(2), expected_version=1)
    await journal.append(_OTHER_SESSION, _entry(1), expected_version=0)
    _same(await journal.head(_KEY), _entry(2), "the head is the newest entry")
    _same(await journal.get(_KEY, 1), _entry(1), "an entry is found by its version")
    _same(await journal.get(_KEY, 3), None, "a version that never was is None")
    _same(list(await journal.history(_KEY)), [_entry(2), _entry(1)], "newest first")
    _same(list(await journal.history(_KEY, limit=1)), [_entry(2)], "at most `limit`")
    page = [name for name, _ in await journal.sessions(_KEY.tenant)]
    _same(page, ["s-2", "s-1"], "sessions are listed by their last change")
    await journal.append(_OTHER_USER, _entry(1), expected_version=0)
    latest = [key for key, _ in await journal.sessions_of_app(_KEY.app, limit=2)]
    _same(latest, [_OTHER_USER, _OTHER_SESSION], "so are those of all users of an app")


async def journal_lets_one_of_many_append(stores: StoresToCheck) -> None:
    """Of concurrent appends to one version, exactly one succeeds."""
    entries = [_entry(1, f"writer {number}") for number in range(8)]
    results = await asyncio.gather(
        *(stores.journal.append(_KEY, entry, expected_version=0) for entry in entries),
        return_exceptions=True,
    )
    won = [entry for entry, result in zip(entries, results, strict=True) if result is None]
    _same(len(won), 1, "one writer wins")
    others = {type(result) for result in results if result is not None}
    _same(others, {ConflictError}, "the others get ConflictError")
    _same(await stores.journal.head(_KEY), won[0], "the head is the winner's entry")


async def evidence_is_recorded_and_undone(stores: StoresToCheck) -> None:
    """Recording an invocation again replaces it; undone and failed turns are not the last."""
    evidence = stores.evidence
    for turn in (1, 2, 3):
        await evidence.record(_KEY, _interaction(turn))
    await evidence.record(_KEY, _interaction(3, "again"))
    _same(await evidence.last(_KEY), _interaction(3, "again"), "recorded again, it is replaced")
    _same(await evidence.find(_KEY, "i-2"), _interaction(2), "found by its invocation")
    _same(await evidence.mark_undone(_KEY, 1), 2, "as many are undone as are later")
    _same(await evidence.last(_KEY), _interaction(1), "the last one is not undone")
    outcomes = [item.outcome for item in await evidence.list(_KEY)]
    expected = [Outcome.UNDONE, Outcome.UNDONE, Outcome.ANSWERED]
    _same(outcomes, expected, "newest first, undone ones included")
    page = await evidence.list(_KEY, limit=1, before="i-3")
    _same([item.turn for item in page], [2], "a page starts after an invocation")
    oldest = [item.invocation_id for item in await evidence.list(_KEY, limit=2, after="")]
    _same(oldest, ["i-1", "i-2"], "with `after`, the oldest come first")
    _same(list(await evidence.list(_OTHER_USER)), [], "other users have nothing of it")


async def artifacts_are_recalled_by_their_words(stores: StoresToCheck) -> None:
    """Recall finds this user's artifacts with words of x_t, and the previous turn."""
    artifacts = stores.artifacts
    await artifacts.add(
        [
            _artifact("disk", "The disk of db-01 is full."),
            _artifact("menu", "Lunch is at noon."),
            _artifact("theirs", "The disk of db-01 is new.", key=_OTHER_USER),
            _turn(1, "Hello."),
        ]
    )
    recall = await artifacts.recall(RecallQuery(key=_KEY, text="Which disk is full?"))
    names = [item.artifact.artifact_id for item in recall.candidates]
    _same(set(names), {"disk", "s-1-t1"}, "the match and the previous turn are found, no others")
    await artifacts.add([_artifact("disk", "The tape is full.")])
    _same(await artifacts.count(_KEY.tenant), 3, "one that is known is replaced")
    replaced = await artifacts.get(_KEY.tenant, "disk")
    _expect(
        replaced is not None and replaced.content == "The tape is full.",
        "one that is known has the new content",
    )


async def artifacts_of_undone_turns_are_not_recalled(stores: StoresToCheck) -> None:
    """Retired artifacts are not recalled, but still counted."""
    artifacts = stores.artifacts
    await artifacts.add([_turn(1, "A lighthouse."), _turn(2, "Another lighthouse.")])
    _same(await artifacts.retire(_KEY, 1), 1, "as many are retired as are later")
    recall = await artifacts.recall(RecallQuery(key=_KEY, text="lighthouse"))
    names = [item.artifact.artifact_id for item in recall.candidates]
    _same(names, ["s-1-t1"], "a retired one is not recalled")
    _same(await artifacts.count(_KEY.tenant), 2, "a retired one still counts")


async def playbooks_are_committed_by_compare_and_swap(stores: StoresToCheck) -> None:
    """A version is stored once with its records, and can be replayed from them."""
    playbooks = stores.playbooks
    empty = await playbooks.load(_SCOPE)
    _same((empty.version, empty.playbook), (0, Playbook()), "it starts empty, at version 0")
    added = Playbook().add_bullet("rules", "Look twice.")
    records = [_added(added)]
    first = await playbooks.commit(
        _SCOPE, added.playbook, records, expected_version=0, commit_id="c-1"
    )
    _same(first.version, 1, "the first commit makes version 1")
    again = await playbooks.commit(
        _SCOPE, added.playbook, records, expected_version=0, commit_id="c-1"
    )
    _same(again, first, "the same commit again is found, not repeated")
    await _raises(
        ConflictError,
        playbooks.commit(_SCOPE, added.playbook, records, expected_version=0),
        "a commit onto an old version is refused",
    )
    _same(await playbooks.load(_SCOPE), first, "the current version is loaded")
    _same(await playbooks.replay(_SCOPE), added.playbook, "the log leads to the playbook")
    await _raises(
        NotFoundError, playbooks.load(_SCOPE, version=7), "a version that never was is not found"
    )


async def sessions_are_opened_listed_and_deleted(stores: StoresToCheck) -> None:
    """A session exists from its first turn until it is deleted."""
    directory = stores.directory
    _same(await directory.knows_app(_KEY.app), False, "an app with nothing stored is not known")
    _same(await directory.find(_KEY), None, "an unknown session is None")
    opened = await directory.open(_KEY, at=_START)
    _same(await directory.find(_KEY), opened, "it is found as it was opened")
    later = _START + timedelta(hours=1)
    await directory.open(_OTHER_SESSION, at=later)
    names = [record.session for record in await directory.list(_KEY.tenant)]
    _same(names, ["s-2", "s-1"], "most recently active first")
    _same(await directory.knows_app(_KEY.app), True, "an app with a session is known")
    _same(list(await directory.apps()), [_KEY.app], "apps are listed")
    taken = [await directory.take_idle(_KEY.app, since=later, retry_s=60) for _ in range(2)]
    _same(taken, [_KEY, None], "one that was active before is taken once")
    work = stores.unit_of_work()
    work.add(directory.reset_write(_KEY, turn=3))
    await work.commit()
    session = await directory.find(_KEY)
    _expect(session is not None and session.history_from == 3, "a change of the record is kept")
    await directory.delete(_KEY, at=later, keep_notes=False)
    _same(list(await directory.names(_KEY.tenant)), ["s-2"], "a deleted one is not known")


async def a_unit_of_work_is_all_or_nothing(stores: StoresToCheck) -> None:
    """Writes of several stores are committed together, or none of them when one is refused."""
    await _unit(stores, _KEY, version=1).commit()
    _same(await stores.journal.head(_KEY), _entry(1), "the journal's write is committed")
    _same(await stores.evidence.last(_KEY), _interaction(1), "and so is that of the evidence")
    _same(await stores.artifacts.count(_KEY.tenant), 1, "and that of the artifacts")
    work = _unit(stores, _KEY, version=2)
    await stores.journal.append(_KEY, _entry(2, "faster"), expected_version=1)
    await _raises(ConflictError, work.commit(), "a unit made from an old version is refused")
    _same(await stores.evidence.last(_KEY), _interaction(1), "nothing of it is recorded")
    _same(await stores.artifacts.count(_KEY.tenant), 1, "nothing of it is stored")


async def users_are_erased_and_others_keep_all(stores: StoresToCheck) -> None:
    """Erasing a session or a user deletes all of it, and nothing of others."""
    for key in _KEYS:
        await _unit(stores, key, version=1).commit()
    erased = [
        await stores.journal.erase(_KEY.tenant, _KEY.session),
        await stores.evidence.erase(_KEY.tenant, _KEY.session),
        await stores.artifacts.erase(_KEY.tenant, _KEY.session),
        await stores.directory.erase(_KEY.tenant, _KEY.session),
    ]
    _same(erased, [1, 1, 1, 1], "as many rows as the session had")
    _same(await stores.journal.head(_KEY), None, "the session is deleted")
    for key in _KEYS[1:]:
        _same(await stores.journal.head(key), _entry(1), "other sessions and users keep theirs")
        _same(await stores.evidence.last(key), _interaction(1), "with their evidence")
    await stores.journal.erase(_KEY.tenant)
    await stores.artifacts.erase(_KEY.tenant)
    _same(list(await stores.journal.sessions(_KEY.tenant)), [], "a user's sessions are all deleted")
    _same(await stores.artifacts.count(_OTHER_USER.tenant), 1, "another user keeps artifacts")


CHECKS: Final[Sequence[Check]] = (
    journal_appends_by_compare_and_swap,
    journal_lets_one_of_many_append,
    evidence_is_recorded_and_undone,
    artifacts_are_recalled_by_their_words,
    artifacts_of_undone_turns_are_not_recalled,
    playbooks_are_committed_by_compare_and_swap,
    sessions_are_opened_listed_and_deleted,
    a_unit_of_work_is_all_or_nothing,
    users_are_erased_and_others_keep_all,
)
"""All checks; each needs fresh, empty stores."""


def _unit(stores: StoresToCheck, key: SessionKey, *, version: int) -> UnitOfWork:
    """A turn's commit."""
    work = stores.unit_of_work()
    before = version - 1
    work.add(stores.journal.append_write(key, _entry(version), expected_version=before))
    work.add(stores.evidence.record_write(key, _interaction(version)))
    work.add(stores.artifacts.add_write([_turn(version, "Hello.", key=key)]))
    work.add(stores.directory.open_write(key, at=_START))
    return work


def _entry(version: int, gist: str = "") -> JournalEntry:
    ccs = empty_ccs().model_copy(update={"semantic_gist": gist})
    return JournalEntry(
        kind=CommitKind.COMMIT,
        state=CommittedState(version=version, turn=version, ccs=ccs),
        diff=CcsDiff(),
        invocation_id=f"i-{version}",
        created_at=_START + timedelta(seconds=version),
    )


def _interaction(turn: int, text: str = "hello") -> Interaction:
    return Interaction(
        turn=turn,
        invocation_id=f"i-{turn}",
        input=TurnInput(text=text),
        decision=GeneratorOutput(final_answer=f"answer {turn}"),
        created_at=_START + timedelta(seconds=turn),
    )


def _artifact(name: str, content: str, *, key: SessionKey = _KEY) -> Artifact:
    return Artifact(
        artifact_id=name, content=content, source="check", created_at=_START, tenant=key.tenant
    )


def _turn(number: int, content: str, *, key: SessionKey = _KEY) -> Artifact:
    artifact = _artifact(f"{key.session}-t{number}", content, key=key)
    place = {"kind": ArtifactKind.TURN, "session": key.session, "turn": number}
    return artifact.model_copy(update=place)


def _added(change: Added) -> DeltaRecord:
    return DeltaRecord(
        kind=DeltaKind.ADD,
        bullet_id=change.bullet.id,
        status=DeltaStatus.APPLIED,
        reason="ok",
        after=change.bullet,
        created_at=_START,
    )


def _expect(is_true: bool, promise: str) -> None:
    if not is_true:
        raise ConformanceError(f"guarantee broken: {promise}")


def _same(value: object, expected: object, promise: str) -> None:
    _expect(value == expected, f"{promise} (found {value!r}, expected {expected!r})")


async def _raises(error: type[Exception], work: Awaitable[object], promise: str) -> None:
    try:
        await work
    except error:
        return
    raise ConformanceError(f"guarantee broken: {promise} ({error.__name__})")
