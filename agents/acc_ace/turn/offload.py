"""A session's history goes to long-term memory, each offload from where the last one ended."""

import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime

from acc_ace.container import Container
from acc_ace.errors import CorruptStoreError
from acc_ace.memory.session_notes import extract_by_rule, notes_of
from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.interaction import Interaction, Outcome
from acc_ace.schemas.session import ReadThrough, SessionMemory, SessionRecord
from acc_ace.strategies.transcript import message_text, messages_of
from acc_ace.text.prompt import Prompt
from acc_ace.text.tokens import clip_tokens
from acc_ace.turn.session_changes import line
from acc_ace.turn.session_directory import before_last_turn
from acc_ace.turn.structured_call import Completion, parser, structured_call

logger = logging.getLogger(__name__)

BATCH_TURNS = 50
"""Turns that are read, and shown to the model, at a time."""

MODEL_TURNS = 200
"""Newest turns of an offload that the model is shown; the rules read all of them."""

_LAST_STATES = 5
_SHOWN_TOKENS = 200


async def offload(
    container: Container,
    key: SessionKey,
    *,
    completion: Completion,
    prompt: Prompt,
) -> None:
    """Extract entities, preferences and lessons of a session into artifacts with provenance.

    Turns that an earlier offload has read are not read again. How far it came is kept after each
    batch, and a batch that is read again gives the same artifacts. A model that is down costs only
    what it would have found beyond the rules.

    Turns go on while the model thinks. The session is held while what was found is written, and
    nothing is written of a turn that was undone or deleted meanwhile. When the session went back
    meanwhile, and forth again, notes of earlier turns may be gone: it is not noted how far this
    offload came, so that the next one reads those turns again. Raises
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
        found = await _found(container, key, turns, last=last, completion=completion, prompt=prompt)
        async with _hold(container, key):
            left = await _went_back(container, key, record)
            at = await _time(container, key, through, now, left=left)
            if not await _kept(container, key, turns, found, at=at, left=left):
                return  # What was said instead, if anything, is still to be read.


async def outliving_notes(
    container: Container, key: SessionKey, *, completion: Completion, prompt: Prompt
) -> list[Artifact]:
    """The notes that stay when a session is deleted with consent: those it has, and all it gives.

    Nothing is written. The caller holds the session. Raises StoreError.
    """
    now, newest = container.clock.now(), await container.evidence.last(key)
    last = newest.turn if newest else 0
    notes = {note.artifact_id: note for note in await _own_notes(container, key)}
    for after in range(0, last, BATCH_TURNS):
        through = min(after + BATCH_TURNS, last)
        turns = await _turns(container, key, after, through)
        found = await _found(container, key, turns, last=last, completion=completion, prompt=prompt)
        for note in notes_of(key, turns, found, at=now):
            notes.pop(note.artifact_id, None)
            notes[note.artifact_id] = note
    return [note.model_copy(update={"session": None}) for note in notes.values()]


async def _own_notes(container: Container, key: SessionKey) -> list[Artifact]:
    """The notes that earlier offloads made of a session; none of one whose record is damaged."""
    try:
        record = await container.directory.find(key)
    except CorruptStoreError as error:
        logger.warning("session_record_unreadable session=%r: %s", key.session, error)
        return []
    found = [
        await container.artifacts.get(key.tenant, name) for name in (record.notes if record else ())
    ]
    return [note for note in found if note is not None and note.session == key.session]


def _hold(container: Container, key: SessionKey) -> AbstractAsyncContextManager[None]:
    return container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s)


async def _went_back(container: Container, key: SessionKey, started: SessionRecord | None) -> bool:
    """Whether the session left turns since an offload began, when its record was `started`."""
    record = await container.directory.find(key)
    return record is not None and record.restores != (started.restores if started else 0)


async def _time(
    container: Container, key: SessionKey, through: int, now: datetime, *, left: bool
) -> datetime:
    """Since when the session is offloaded: before its last turn while something is to be read.

    A turn that ran meanwhile began before, maybe.
    """
    newest = await container.evidence.last(key)
    if not left and (newest is None or newest.turn <= through):
        return now
    record = await container.directory.find(key)
    return now if record is None else before_last_turn(record, now)


async def _kept(
    container: Container,
    key: SessionKey,
    read: Sequence[Interaction],
    found: Sequence[SessionMemory],
    *,
    at: datetime,
    left: bool,
) -> bool:
    """Write what came of turns that were read; False if they were deleted, or all undone, since."""
    if await container.directory.find(key) is None:
        return False
    turns = await _still_there(container, key, read)
    if read and not turns:
        return False
    if len(turns) < len(read):
        # The entities may be those of a turn that was undone.
        found = [memory.model_copy(update={"entities": []}) for memory in found]
    notes = notes_of(key, turns, found, at=at)
    await _add(container, notes)
    names = [note.artifact_id for note in notes]
    through = None if left else _through(turns)
    await container.directory.offloaded(key, at=at, notes=names, through=through)
    return True


async def _still_there(
    container: Container, key: SessionKey, read: Sequence[Interaction]
) -> list[Interaction]:
    """Those of the turns, which were read before, that still are answered turns of the session.

    A turn that was taken again bears the number of the one that was undone, but is another one.
    """
    if not read:
        return []
    answered = await _turns(container, key, read[0].turn - 1, read[-1].turn)
    known = {turn.invocation_id for turn in answered}
    return [turn for turn in read if turn.invocation_id in known]


async def _add(container: Container, notes: Sequence[Artifact]) -> None:
    """Store notes. One that a deleted session of that name has left stays nobody's own."""
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
    """What is worth knowing of some turns: the model's word, if it is asked, and the rules'."""
    if not turns:
        return []
    entities = await _entities(container, key, last) if turns[-1].turn == last else []
    found = [extract_by_rule(turns, entities)]
    if turns[-1].turn <= last - MODEL_TURNS:
        return found
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
    asked = await structured_call(completion, prompt, inputs, parser(SessionMemory), repairs=0)
    return [*([asked.value] if asked.value else []), *found]


async def _entities(container: Container, key: SessionKey, last: int) -> list[str]:
    """Those of the session up to its last answered turn, on the line that leads to its head."""
    head = await container.journal.head(key)
    left = _LAST_STATES
    async for entry in line(container.journal, key, head.state.version if head else 0):
        # A turn that runs now may fail.
        if entry.state.turn > last:
            continue
        # After a reset the newest state is empty, so one of the last that was not is taken.
        if entry.state.ccs.focal_entities or not (left := left - 1):
            return entry.state.ccs.focal_entities
    return []


async def _read_turns(container: Container, key: SessionKey, record: SessionRecord | None) -> int:
    """The last turn that an offload has read; 0 when that was undone since, with some before."""
    through = record.offloaded_through if record else None
    if through is None:
        return 0
    known = await container.evidence.find(key, through.invocation_id)
    return through.turn if known is not None and known.outcome is Outcome.ANSWERED else 0


async def _turns(
    container: Container, key: SessionKey, after: int, through: int
) -> list[Interaction]:
    """The answered turns after one and up to another, oldest first."""
    found: list[Interaction] = []
    before: str | None = None
    while page := await container.evidence.list(
        key, limit=BATCH_TURNS, before_turn=through + 1, before=before
    ):
        found += [turn for turn in page if turn.turn > after and turn.outcome is Outcome.ANSWERED]
        if page[-1].turn <= after:
            break
        before = page[-1].invocation_id
    return found[::-1]


def _through(turns: Sequence[Interaction]) -> ReadThrough | None:
    return (
        ReadThrough(turn=turns[-1].turn, invocation_id=turns[-1].invocation_id) if turns else None
    )
