"""An owner's operations on a session: edit, rollback, undo, reset, deletion; one transaction each.

Rollback, undo and reset append a version and rewrite nothing. A deletion leaves the notes that
the owner consented to keep.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

from pydantic import ValidationError

from acc_ace.container import Container
from acc_ace.core.gates.ccs_budget import fit_fields, rule_1_bounded
from acc_ace.core.gates.goal import goal_pin
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.ccs import CCS_FIELDS, CompressedCognitiveState
from acc_ace.core.schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    ConstraintPin,
    JournalEntry,
    Release,
    RuleScope,
)
from acc_ace.core.schemas.session import SessionRecord
from acc_ace.errors import (
    ConflictError,
    CorruptStoreError,
    ForbiddenError,
    InputError,
    NotFoundError,
    first_problem,
)
from acc_ace.turn import session_directory as rules
from acc_ace.turn.journal import Journal
from acc_ace.turn.turn_commit import user_rules_write
from acc_ace.unit_of_work import Write

_ROLLED_BACK = "rolled back"


async def notes_after(container: Container, key: SessionKey, turn: int) -> list[str]:
    """Ids of the session's notes derived from turns after `turn`. Raises StoreError."""
    record = await container.directory.find(key)
    notes: list[str] = []
    for name in record.notes if record else ():
        note = await container.artifacts.get(key.tenant, name)
        if note is not None and note.session == key.session and (note.turn or 0) > turn:
            notes.append(name)
    return notes


async def delete_session(
    container: Container, key: SessionKey, *, outliving: Sequence[Artifact] | None = None
) -> bool:
    """Delete a session in one transaction, then its files; return whether anything existed.

    Its notes are deleted too, except `outliving`, which the user consented to keep. Notes left by
    an earlier session of the same id belong to the user and stay. What rests on it in other
    sessions goes first, unless notes are to stay. The caller holds the session. Raises StoreError,
    or SessionBusyError for one of those.
    """
    if outliving is None:
        await container.parts.erase_before_session(container, key)
    now, record = container.clock.now(), await _record(container, key)
    if outliving is not None:
        started = record or SessionRecord(session=key.session, created_at=now, active_at=now)
        record = rules.offloaded(started, now, [note.artifact_id for note in outliving])
    left = record and rules.deleted(record, now, keep_notes=outliving is not None)
    deleted = await container.erasure.delete_sessions([key], left=left, notes=outliving or ())
    return any(deleted.values())


async def forget_session(container: Container, key: SessionKey) -> None:
    """Hold a session and delete it with its notes.

    Raises SessionBusyError, with nothing deleted, when a turn of the session runs for too long,
    or StoreError.
    """
    async with container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s):
        await delete_session(container, key)


async def edit_state(
    container: Container, key: SessionKey, fields: Mapping[str, object], *, expected_version: int
) -> CommittedState:
    """Rewrite fields of a session's state, as a new version; the caller holds the session.

    Rules have their own operations. Raises NotFoundError, ConflictError when the state is not at
    the expected version, ForbiddenError for a goal of system authority, InputError for a field or
    text that the state does not take or has no room for.
    """
    head = await container.journal.head(key)
    if head is None:
        raise NotFoundError(f"no session '{key.session}' of this user; its first turn creates it")
    current, limits = head.state, container.settings.limits
    if current.version != expected_version:
        raise ConflictError(f"the state is at version {current.version}, not {expected_version}")
    kept = {"constraints", "episodic_trace"} & fields.keys()
    if wrong := sorted(fields.keys() - {*CCS_FIELDS} | kept):
        raise InputError(f"no field to edit: {', '.join(wrong)[:200]}; rules have /rules")
    ccs = _edited(current.ccs, fields)
    goal = current.goal_pin
    if ccs.goal_orientation != current.ccs.goal_orientation:
        if goal is not None and goal.authority is Authority.SYSTEM:
            raise ForbiddenError("this goal was set by the operator; it cannot be edited")
        text = ccs.goal_orientation
        goal = goal_pin(text, Authority.USER, current.turn, limits) if text else None
        ccs = ccs.model_copy(update={"goal_orientation": goal.text if goal else ""})
    repairs = [*fit_fields(ccs.without_tail, limits=limits).repairs]
    repairs += rule_1_bounded(ccs, current.pins, shrinks=True, limits=limits).repairs
    if repairs:
        over = "; ".join(f"{repair.field}: {repair.detail}" for repair in repairs)
        raise InputError(f"the edited state is over its budget ({over}); shorten it")
    version = current.version + 1
    state = current.model_copy(update={"ccs": ccs, "goal_pin": goal, "version": version})
    entry = JournalEntry(
        kind=CommitKind.EDIT,
        state=state,
        diff=CcsDiff.between(current, state),
        invocation_id="",
        created_at=container.clock.now(),
    )
    await container.journal.append(key, entry, expected_version=current.version)
    return state


def _edited(
    ccs: CompressedCognitiveState, fields: Mapping[str, object]
) -> CompressedCognitiveState:
    try:
        return CompressedCognitiveState.model_validate({**ccs.model_dump(), **fields})
    except ValidationError as error:
        raise InputError(f"the state cannot be edited so: {first_problem(error)}") from error


async def _record(container: Container, key: SessionKey) -> SessionRecord | None:
    """The record of a session; None also if unreadable, so that it can still be deleted."""
    try:
        return await container.directory.find(key)
    except CorruptStoreError:
        return None


class Rollback:
    """Appends an older state as the newest version; the caller holds the session."""

    def __init__(self, container: Container) -> None:
        self._container, self._journal = container, container.journal

    async def to_version(self, key: SessionKey, version: int) -> CommittedState:
        """Restore a version's content. Raises NotFoundError."""
        head, target = await self._journal.head(key), await self._journal.get(key, version)
        if head is None or target is None:
            raise NotFoundError(f"session '{key.session}' has no version {version}")
        return await self._restore(key, head.state, target.state)

    async def before_last_turn(self, key: SessionKey, turn: int | None = None) -> CommittedState:
        """Undo the last turn, or the rule changes after it. Raises NotFoundError if neither exists.

        With `turn`, only that turn is undone, idempotently.
        Raises ConflictError when another turn is the last.
        """
        head = await self._journal.head(key)
        if head is not None and turn is not None and head.state.turn != turn:
            if await self._is_undone(key, head, turn):
                return head.state
            raise ConflictError(
                f"the last turn of session '{key.session}' is {head.state.turn}, not {turn}; "
                "nothing was undone"
            )
        if head is not None and turn is None and (before := await self._before_rules(key, head)):
            return await self._restore(key, head.state, before)
        if head is None or head.state.turn == 0:
            raise NotFoundError(f"session '{key.session}' has no turn to undo")
        return await self._restore(key, head.state, await self._before_turn(key, head.state))

    async def to_start(self, key: SessionKey) -> int | None:
        """Reset the state to CCS_0; return the last turn, None for a session without a version.

        Evidence stays searchable; a classic memory starts with empty messages.
        """
        head = await self._journal.head(key)
        if head is None:
            return None
        turn, newest = head.state.turn, await self._container.evidence.list(key, limit=1)
        # What was said before stays gone, in turns without an answer too.
        begun = CommittedState(turn=turn, read_to=newest[0].invocation_id if newest else "")
        work = self._container.unit_of_work()
        _, write = self._appended(key, head.state, begun, CommitKind.RESET)
        work.add(write)
        work.add(self._container.directory.reset_write(key, turn=turn))
        await work.commit()
        return turn

    async def _restore(
        self, key: SessionKey, current: CommittedState, target: CommittedState
    ) -> CommittedState:
        container = self._container
        # Not the target's turn: turns of the abandoned branch may have the same numbers.
        turn, crossed = await self._common_turn(key, current.version, target.version)
        notes = await notes_after(container, key, turn)
        history_from = await self._history_from(key, target.version) if crossed else None
        work = container.unit_of_work()
        rules_of_user = await self._inverse_rule_changes(key, current.version, target.version)
        restored, write = self._appended(
            key, current, target, CommitKind.ROLLBACK, rules_of_user=rules_of_user
        )
        work.add(write)
        if user_write := user_rules_write(container, key, rules_of_user):
            work.add(user_write)
        work.add(container.artifacts.retire_write(key, turn))
        facts = await container.parts.facts_before(container, key, turn)
        work.add(container.artifacts.add_write(facts))
        work.add(container.evidence.undone_write(key, turn))
        work.add(
            container.directory.restored_write(
                key, turn=turn, history_from=history_from, notes=notes
            )
        )
        await work.commit()
        await container.parts.forget_after(container, key, turn)
        return restored

    def _appended(
        self,
        key: SessionKey,
        current: CommittedState,
        target: CommittedState,
        kind: CommitKind,
        *,
        rules_of_user: CcsDiff | None = None,
    ) -> tuple[CommittedState, Write]:
        """The next version, with the content of `target`; ids are never reused."""
        changes = {
            "version": current.version + 1,
            "next_pin": max(current.next_pin, target.next_pin),
            "next_question": max(current.next_question, target.next_question),
        }
        of_user = rules_of_user or CcsDiff()
        restored = target.model_copy(update=changes)
        entry = JournalEntry(
            kind=kind,
            state=restored,
            diff=CcsDiff.between(
                current,
                restored,
                added=of_user.constraints_added,
                released=of_user.constraints_released,
            ),
            invocation_id="",
            created_at=self._container.clock.now(),
            follows=target.version if kind is CommitKind.ROLLBACK else None,
        )
        return restored, self._journal.append_write(key, entry, expected_version=current.version)

    async def _is_undone(self, key: SessionKey, head: JournalEntry, turn: int) -> bool:
        """Whether the head is a rollback from that turn or a later one to before it."""
        left = await self._journal.get(key, head.state.version - 1)
        if head.kind is not CommitKind.ROLLBACK or left is None:
            return False
        return head.state.turn < turn <= left.state.turn

    async def _before_rules(self, key: SessionKey, head: JournalEntry) -> CommittedState | None:
        """The state before the newest change outside of a turn; None if a turn followed."""
        async for entry in ancestry(self._journal, key, head.state.version):
            if entry.kind in {CommitKind.RULES, CommitKind.EDIT}:
                before = await self._journal.get(key, entry.state.version - 1)
                return before.state if before else CommittedState()
            if entry.kind is not CommitKind.ROLLBACK:
                break
        return None

    async def _inverse_rule_changes(self, key: SessionKey, current: int, target: int) -> CcsDiff:
        """The inverse of this session's changes to user-wide rules after version `target`."""
        rules, _ = await self._container.user_rules.of_user(key.tenant)
        own = {pin.id: pin for pin in rules}
        pins: dict[str, ConstraintPin] = {}
        present: dict[str, bool] = {}
        for version in range(current, target, -1):
            entry = await self._journal.get(key, version)
            diff = entry.diff if entry else CcsDiff()
            for pin in diff.constraints_added:
                pins[pin.id] = pin
                present[pin.id] = False
            if any(release.id.startswith("u-") for release in diff.constraints_released):
                before = await self._journal.get(key, version - 1)
                pins |= {pin.id: pin for pin in (before.state.pins if before else ())}
                present |= {release.id: True for release in diff.constraints_released}
        # Other rules of the user that stand in those states are left as they are.
        users = [pins[name] for name in present if pins[name].scope is RuleScope.USER]
        gone = [pin for pin in users if own.get(pin.id) != (pin if present[pin.id] else None)]
        return CcsDiff(
            constraints_added=[pin for pin in gone if present[pin.id]],
            constraints_released=[
                Release(id=pin.id, text=pin.text, quote=_ROLLED_BACK)
                for pin in gone
                if pin.id in own
            ],
        )

    async def _before_turn(self, key: SessionKey, current: CommittedState) -> CommittedState:
        """The newest state of an earlier turn; CCS_0 before the first one."""
        async for entry in ancestry(self._journal, key, current.version):
            if entry.state.turn < current.turn:
                return entry.state
        return CommittedState()

    async def _common_turn(self, key: SessionKey, here: int, there: int) -> tuple[int, bool]:
        """The last common turn of both versions, and whether a reset lies between them."""
        crossed = False
        # Step back from the later version until both meet.
        while here != there and (entry := await self._journal.get(key, max(here, there))):
            crossed = crossed or entry.kind is CommitKind.RESET
            if here > there:
                here = _parent(entry)
            else:
                there = _parent(entry)
        common = await self._journal.get(key, min(here, there))
        return common.state.turn if common else 0, crossed

    async def _history_from(self, key: SessionKey, version: int) -> int:
        """The turn after which a version's messages start."""
        async for entry in ancestry(self._journal, key, version):
            if entry.kind is CommitKind.RESET:
                return entry.state.turn
        return 0


async def ancestry(journal: Journal, key: SessionKey, version: int) -> AsyncIterator[JournalEntry]:
    """The ancestry of a version, newest first, starting with its own entry. Raises StoreError."""
    while version and (entry := await journal.get(key, version)) is not None:
        yield entry
        version = _parent(entry)


def _parent(entry: JournalEntry) -> int:
    """The parent version: the one an entry continues, or whose content it restores."""
    return entry.state.version - 1 if entry.follows is None else entry.follows
