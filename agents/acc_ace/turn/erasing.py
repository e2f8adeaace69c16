"""Deletion follows derivation: what rests on an artifact goes with it, out of memory and states.

Rules and goals are never removed so, and what a session's transcript shows stays there until the
session is deleted. Sessions come first and artifacts last, so that a deletion that finds a session
busy can be repeated.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Final

from acc_ace.container import Container
from acc_ace.core.gates.references import artifact_ids
from acc_ace.core.schemas.artifact import Artifact, Erased
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CcsDiff, CommitKind, FieldChange, JournalEntry
from acc_ace.core.schemas.interaction import Interaction, Outcome
from acc_ace.core.text.telling import statements, telling, without
from acc_ace.memory.artifact_edit import find_artifact
from acc_ace.memory.derivation import Derived, derived_from, of_session
from acc_ace.memory.turn_artifacts import turn_artifact_id

MOST_SESSIONS: Final = 1_000
"""Newest sessions of a user whose states are searched for a reference to what goes."""

_PAGE: Final = 50
_ERASED: Final = "[erased]"
_KEPT_FIELDS: Final = frozenset({"constraints", "goal_orientation", "retrieved_artifacts"})


async def erase_artifacts(
    container: Container,
    tenant: Tenant,
    ids: Sequence[str],
    *,
    locked: SessionKey | None = None,
    dry_run: bool = False,
) -> Erased:
    """Delete artifacts and what rests on them, or with `dry_run` only list it.

    `locked` is a session whose lock the caller has. Raises NotFoundError when memory has none of
    that id, SessionBusyError, then with every artifact still there, or StoreError.
    """
    roots = [await find_artifact(container, tenant, name) for name in dict.fromkeys(ids)]
    return await erase_with(container, tenant, roots, locked=locked, dry_run=dry_run)


async def erase_with(
    container: Container,
    tenant: Tenant,
    roots: Sequence[Artifact],
    *,
    locked: SessionKey | None = None,
    apart: SessionKey | None = None,
    dry_run: bool = False,
) -> Erased:
    """`erase_artifacts` for artifacts that were read already.

    The caller deletes the session `apart` as a whole, with all that is its own.
    """
    derived = await derived_from(container, tenant, roots)
    sessions = [key async for key in _sessions(container, tenant, derived)]
    erased = Erased(
        removed=[*derived.removed],
        shortened=[*derived.shortened],
        sessions=[key.session for key in sessions],
        also=[*derived.also],
    )
    if dry_run:
        return erased
    own = apart.session if apart else None
    for key in sessions:
        if key.session != own:
            await _clean(container, key, derived, is_own=key == locked)
    if shortened := [each for each in derived.shortened.values() if each.session != own or not own]:
        await container.artifacts.add(shortened)
    for name, artifact in reversed(derived.removed.items()):
        if artifact.session != own or not own:
            await container.artifacts.remove(tenant, name)
    return erased


async def erase_before_session(container: Container, key: SessionKey) -> None:
    """Delete what rests on a session in others, before the caller, who holds it, deletes it.

    Raises SessionBusyError or StoreError.
    """
    if roots := await of_session(container, key):
        await erase_with(container, key.tenant, roots, apart=key)


async def _sessions(
    container: Container, tenant: Tenant, derived: Derived
) -> AsyncIterator[SessionKey]:
    """The sessions that know it: of its turns, or with a reference to it in their state."""
    gone = derived.removed.keys() | derived.shortened.keys()
    before: str | None = None
    for _ in range(MOST_SESSIONS // _PAGE):
        page = await container.journal.sessions(tenant, limit=_PAGE, before=before)
        for session, head in page:
            refers = artifact_ids(head.state.ccs.retrieved_artifacts) & gone
            if session in derived.since or refers:
                yield SessionKey(*tenant, session)
        if len(page) < _PAGE:
            return
        before = page[-1][0]


async def _clean(container: Container, key: SessionKey, derived: Derived, *, is_own: bool) -> None:
    """Take it out of a session's versions and exchanges, in one transaction."""
    async with AsyncExitStack() as stack:
        if not is_own:
            wait_s = container.settings.limits.turn_wait_s
            await stack.enter_async_context(container.lock.hold(key, wait_s=wait_s))
        head = await container.journal.head(key)
        if head is None:
            return
        clean = _cleaned(head, derived)
        version = head.state.version + 1
        state = clean.state.model_copy(update={"version": version})
        entry = JournalEntry(
            kind=CommitKind.ERASE,
            state=state,
            diff=CcsDiff(),
            invocation_id="",
            created_at=container.clock.now(),
        )
        work = container.unit_of_work()
        if clean.state != head.state:
            expected = head.state.version
            work.add(container.journal.append_write(key, entry, expected_version=expected))
        if versions := [each async for each in _versions(container, key, derived)]:
            work.add(container.journal.rewrite_write(key, versions))
        async for turn in _exchanges(container, key, derived):
            work.add(container.evidence.record_write(key, turn))
        await work.commit()


async def _versions(
    container: Container, key: SessionKey, derived: Derived
) -> AsyncIterator[JournalEntry]:
    """The versions that say it, as they read without it: no way back leads to it."""
    before: int | None = None
    while page := await container.journal.history(key, limit=_PAGE, before_version=before):
        for entry in page:
            if (clean := _cleaned(entry, derived)) != entry:
                yield clean
        before = page[-1].state.version


async def _exchanges(
    container: Container, key: SessionKey, derived: Derived
) -> AsyncIterator[Interaction]:
    """The exchanges that say it, as they are read from now on."""
    before: str | None = None
    since = derived.since.get(key.session, 0)
    while page := await container.evidence.list(key, limit=_PAGE, before=before):
        for turn in page:
            if (clean := _exchange(key, turn, derived)) is not turn:
                yield clean
        if page[-1].turn < since:
            return
        before = page[-1].invocation_id


def _exchange(key: SessionKey, turn: Interaction, derived: Derived) -> Interaction:
    """An exchange without it; as one undone where the user has stated nothing else."""
    is_gone = turn_artifact_id(key, turn.turn) in derived.removed
    told, input_text = derived.told, turn.input.text
    texts = [turn.answer, *(each.result for each in turn.tool_results)]
    asks = any(each not in statements(input_text) for each in telling(input_text, told))
    if not (is_gone or asks or any(telling(text, told) for text in texts)):
        return turn
    if is_gone or not statements(input_text):
        return turn.model_copy(update={"outcome": Outcome.UNDONE})
    results = [
        each.model_copy(update={"result": _ERASED, "whole": None})
        if telling(each.result, told)
        else each
        for each in turn.tool_results
    ]
    decision = turn.decision and turn.decision.model_copy(
        update={"reasoning": [], "final_answer": without(turn.answer, told) or _ERASED}
    )
    return turn.model_copy(update={"decision": decision, "tool_results": results})


def _cleaned(entry: JournalEntry, derived: Derived) -> JournalEntry:
    state = entry.state
    ccs = _ccs(state.ccs, derived)
    changes = [_change(each, derived) for each in entry.diff.changes]
    repairs = [each for each in entry.diff.repairs if not telling(each.detail, derived.told)]
    diff = entry.diff.model_copy(update={"changes": changes, "repairs": repairs})
    if ccs == state.ccs and diff == entry.diff:
        return entry
    return entry.model_copy(update={"state": state.model_copy(update={"ccs": ccs}), "diff": diff})


def _ccs(ccs: CompressedCognitiveState, derived: Derived) -> CompressedCognitiveState:
    values = {
        name: _value(name, value, derived)
        for name, value in ccs.model_dump().items()
        if name not in _KEPT_FIELDS
    }
    references = _references(ccs.retrieved_artifacts, derived)
    values["episodic_trace"] = _trace(ccs.episodic_trace, derived)
    return ccs.model_copy(update={**values, "retrieved_artifacts": references})


def _trace(text: str, derived: Derived) -> str:
    """The CCM's own words without it; exchanges that say it go, as the next turn makes them."""
    own, mark, tail = text.partition("\n")
    rest = "" if telling(tail, derived.told) else f"{mark}{tail}"
    return without(own, derived.told) + rest


def _change(change: FieldChange, derived: Derived) -> FieldChange:
    before, after = (
        _value(change.field, value, derived) for value in (change.before, change.after)
    )
    return change.model_copy(update={"before": before, "after": after})


def _value(name: str, value: str | list[str] | None, derived: Derived) -> str | list[str] | None:
    if name in _KEPT_FIELDS - {"retrieved_artifacts"}:
        return value
    if isinstance(value, str):
        return without(value, derived.told)
    if name == "retrieved_artifacts":
        return _references(value or [], derived) if value is not None else None
    return [each for each in value if not telling(each, derived.told)] if value else value


def _references(items: Sequence[str], derived: Derived) -> list[str]:
    gone = derived.removed.keys() | derived.shortened.keys()
    return [
        each for each in items if not (artifact_ids([each]) & gone or telling(each, derived.told))
    ]
