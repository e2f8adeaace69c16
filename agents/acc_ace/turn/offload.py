"""Offload a session's history to long-term memory, incrementally."""

import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime

from acc_ace.container import Container
from acc_ace.core.gates.references import Evidence
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Interaction, Outcome, TurnInput
from acc_ace.core.schemas.session import ReadThrough, SessionMemory, SessionRecord
from acc_ace.core.text.prompt import Prompt
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import CorruptStoreError
from acc_ace.memory.profile import profile_artifacts
from acc_ace.memory.session_notes import extract_by_rule, notes_of
from acc_ace.memory.tail import SinceReading
from acc_ace.turn.ccm_call import read_all
from acc_ace.turn.observer import TurnObserver
from acc_ace.turn.reading import unread
from acc_ace.turn.session_changes import ancestry
from acc_ace.turn.session_directory import before_last_turn
from acc_ace.turn.structured_call import Completion, parser, structured_call
from acc_ace.turn.transcript import message_text, messages_of, since_last_reading
from acc_ace.turn.turn_record import TurnStart

logger = logging.getLogger(__name__)

BATCH_TURNS = 50
"""Turns read, and shown to the model, at a time."""

MODEL_TURNS = 200
"""Newest turns of an offload shown to the model; the rules read all turns."""

_NOBODY_SPEAKS = TurnInput(text="(The session is idle.)", authority=Authority.TOOL)
_LAST_STATES = 5
_SHOWN_TOKENS = 200


async def offload(
    container: Container, key: SessionKey, *, completion: Completion, prompt: Prompt
) -> None:
    """Extract entities, preferences and lessons of a session into artifacts with provenance.

    Resumes after the last offload's turns. Progress is stored after each batch, and repeating a
    batch gives the same artifacts. If the model is down, only its finds beyond the rules are
    missing.

    Turns may run during the model call. The session is locked only for the write, and nothing is
    written for a turn undone or deleted meanwhile. If a rollback happened meanwhile, even one
    that was reverted, notes of earlier turns may be deleted: progress is then not stored, so
    that the next offload reads those turns again. Raises
    SessionBusyError or StoreError.
    """
    now = container.clock.now()
    newest = await container.evidence.last(key)
    last = newest.turn if newest else 0
    record = await container.directory.find(key)
    begin = await _read_turns(container, key, record)
    for after in range(begin, max(last, begin + 1), BATCH_TURNS):
        through = min(after + BATCH_TURNS, last)
        turns = await _turns(container, key, after, through)
        items = await _found(container, key, turns, last=last, completion=completion, prompt=prompt)
        async with _hold(container, key):
            left = await _reverted(container, key, record)
            at = await _time(container, key, through, now, left=left)
            if not await _write_notes(container, key, turns, items, at=at, left=left):
                return  # Turns that replaced these are read by the next offload.


async def read_out(container: Container, key: SessionKey, ccm: Completion) -> None:
    """Have a CCM read what is unread of an idle session, for the profile of its user.

    Only that outlives the session: rules bind where they were said, and a session that goes on
    reads its words before it acts on them. So CCS_t and what counts as read stay as they are. A CCM
    that fails leaves no fact. Raises SessionBusyError or StoreError.
    """
    head = await container.journal.head(key)
    since = await since_last_reading(container, key, head.state) if head else SinceReading()
    if head is None or not unread(since):
        return
    start, observer = TurnStart(key, _NOBODY_SPEAKS, head.state, since=since), TurnObserver()
    with observer.stage("compressor"):
        facts = (await read_all(container, start, Evidence({}), observer, ccm)).finds.facts
    async with _hold(container, key):
        if facts and await container.journal.head(key) == head:
            # Nothing was undone or deleted meanwhile.
            await container.artifacts.add(facts)


async def outliving_notes(
    container: Container, key: SessionKey, *, completion: Completion, prompt: Prompt
) -> list[Artifact]:
    """The notes to keep when a session is deleted with consent: stored ones and new extracts.

    Writes nothing. The caller holds the session. Raises StoreError.
    """
    now, newest = container.clock.now(), await container.evidence.last(key)
    last = newest.turn if newest else 0
    notes = {note.artifact_id: note for note in await _own_notes(container, key)}
    for after in range(0, last, BATCH_TURNS):
        through = min(after + BATCH_TURNS, last)
        turns = await _turns(container, key, after, through)
        items = await _found(container, key, turns, last=last, completion=completion, prompt=prompt)
        for note in notes_of(key, turns, items, at=now):
            notes.pop(note.artifact_id, None)
            notes[note.artifact_id] = note
    facts = await profile_artifacts(container, key.tenant)
    own = [fact for fact in facts if fact.session == key.session]
    return [note.model_copy(update={"session": None}) for note in (*notes.values(), *own)]


async def _own_notes(container: Container, key: SessionKey) -> list[Artifact]:
    """Notes made by earlier offloads of a session; empty if its record is damaged."""
    try:
        record = await container.directory.find(key)
    except CorruptStoreError as error:
        logger.warning("session_record_unreadable session=%r: %s", key.session, error)
        return []
    notes = [
        await container.artifacts.get(key.tenant, name) for name in (record.notes if record else ())
    ]
    return [note for note in notes if note is not None and note.session == key.session]


def _hold(container: Container, key: SessionKey) -> AbstractAsyncContextManager[None]:
    return container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s)


async def _reverted(container: Container, key: SessionKey, started: SessionRecord | None) -> bool:
    """Whether a rollback happened since the offload started with the record `started`."""
    record = await container.directory.find(key)
    return record is not None and record.restores != (started.restores if started else 0)


async def _time(
    container: Container, key: SessionKey, through: int, now: datetime, *, left: bool
) -> datetime:
    """The offload time to record: before the last turn while unread turns remain.

    A turn that ran meanwhile may have started before `now`.
    """
    newest = await container.evidence.last(key)
    if not left and (newest is None or newest.turn <= through):
        return now
    record = await container.directory.find(key)
    return now if record is None else before_last_turn(record, now)


async def _write_notes(
    container: Container,
    key: SessionKey,
    read: Sequence[Interaction],
    memories: Sequence[SessionMemory],
    *,
    at: datetime,
    left: bool,
) -> bool:
    """Write the notes of the turns read; False if those were all deleted or undone meanwhile."""
    if await container.directory.find(key) is None:
        return False
    turns = await _remaining(container, key, read)
    if read and not turns:
        return False
    if len(turns) < len(read):
        # The entities may be those of a turn that was undone.
        memories = [memory.model_copy(update={"entities": []}) for memory in memories]
    notes = notes_of(key, turns, memories, at=at)
    await _add(container, notes)
    names = [note.artifact_id for note in notes]
    through = None if left else _through(turns)
    await container.directory.offloaded(key, at=at, notes=names, through=through)
    return True


async def _remaining(
    container: Container, key: SessionKey, read: Sequence[Interaction]
) -> list[Interaction]:
    """The turns read before that are still answered turns of the session.

    A repeated turn has the number of the undone one, but another invocation id.
    """
    if not read:
        return []
    answered = await _turns(container, key, read[0].turn - 1, read[-1].turn)
    known = {turn.invocation_id for turn in answered}
    return [turn for turn in read if turn.invocation_id in known]


async def _add(container: Container, notes: Sequence[Artifact]) -> None:
    """Store notes, except those that a deleted session of the same id has left."""
    left = [note for note in notes if note.session is None or not await _outlives(container, note)]
    if left:
        await container.artifacts.add(left)


async def _outlives(container: Container, note: Artifact) -> bool:
    known = await container.artifacts.get(note.tenant, note.artifact_id)
    return known is not None and known.session is None


async def _found(
    container: Container,
    key: SessionKey,
    turns: Sequence[Interaction],
    *,
    last: int,
    completion: Completion,
    prompt: Prompt,
) -> list[SessionMemory]:
    """Extract memories from turns, by rule and, for the newest turns, also by the model."""
    if not turns:
        return []
    entities = await _entities(container, key, last) if turns[-1].turn == last else []
    memories = [extract_by_rule(turns, entities)]
    if turns[-1].turn <= last - MODEL_TURNS:
        return memories
    inputs = {
        "messages": [
            {
                "turn": message.turn,
                "role": message.role,
                "text": clip_tokens(message_text(message), _SHOWN_TOKENS),
            }
            for message in messages_of(turns)
        ],
        "entities": entities,
    }
    again = container.settings.limits.repairs
    result = await structured_call(completion, prompt, inputs, parser(SessionMemory), repairs=again)
    for warning in result.warnings:
        logger.warning("session=%r: %s", key.session, warning)
    return [*([result.value] if result.value else []), *memories]


async def _entities(container: Container, key: SessionKey, last: int) -> list[str]:
    """The session's entities as of its last answered turn, on the head's ancestry."""
    head = await container.journal.head(key)
    left = _LAST_STATES
    async for entry in ancestry(container.journal, key, head.state.version if head else 0):
        # Skip a turn that is still running: it may fail.
        if entry.state.turn > last:
            continue
        # After a reset the newest state is empty, so use a recent one that is not.
        if entry.state.ccs.focal_entities or not (left := left - 1):
            return entry.state.ccs.focal_entities
    return []


async def _read_turns(container: Container, key: SessionKey, record: SessionRecord | None) -> int:
    """The last turn read by an offload; 0 if it was undone since, maybe with earlier turns."""
    through = record.offloaded_through if record else None
    if through is None:
        return 0
    known = await container.evidence.find(key, through.invocation_id)
    return through.turn if known is not None and known.outcome is Outcome.ANSWERED else 0


async def _turns(
    container: Container, key: SessionKey, after: int, through: int
) -> list[Interaction]:
    """The answered turns after one and up to another, oldest first."""
    turns: list[Interaction] = []
    before: str | None = None
    while page := await container.evidence.list(
        key, limit=BATCH_TURNS, before_turn=through + 1, before=before
    ):
        turns += [turn for turn in page if turn.turn > after and turn.outcome is Outcome.ANSWERED]
        if page[-1].turn <= after:
            break
        before = page[-1].invocation_id
    return turns[::-1]


def _through(turns: Sequence[Interaction]) -> ReadThrough | None:
    return (
        ReadThrough(turn=turns[-1].turn, invocation_id=turns[-1].invocation_id) if turns else None
    )
