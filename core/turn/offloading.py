"""A session's history goes to long-term memory, each offload from where the last one ended."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime

from core.container import Container
from core.domain.prompt import Prompt
from core.domain.session_notes import extract_by_rule, notes_of
from core.domain.session_record import before_last_turn
from core.domain.tokens import clip_tokens
from core.domain.transcript import message_text, messages_of
from core.ports.completion import Completion
from core.turn.asking import ask
from core.turn.lineage import line
from core.turn.parsing import parser
from schemas.artifact import Artifact
from schemas.interaction import Interaction, Outcome
from schemas.session import ReadThrough, SessionRecord
from schemas.session_memory import SessionMemory
from schemas.tenancy import SessionKey

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
    outlives_session: bool = False,
) -> None:
    """Extract entities, preferences and lessons of a session into artifacts with provenance.

    Turns that an earlier offload has read are not read again, unless notes must outlive the
    session: those rest on all of it. How far it came is kept after each batch, and a batch that
    is read again gives the same artifacts. A model that is down costs only what it would have
    found beyond the rules.

    Turns go on while the model thinks. The session is held while what was found is written, and
    nothing is written of a turn that was undone or deleted meanwhile. When the session went back
    meanwhile, and forth again, notes of earlier turns may be gone: it is not noted how far this
    offload came, so that the next one reads those turns again. Where notes must outlive the
    session, the caller holds it all along. Raises SessionBusyError or StoreError.
    """
    now = container.clock.now()
    newest = await container.evidence.last(key)
    last = newest.turn if newest else 0
    record = await container.directory.find(key)
    if outlives_session and record is not None:
        await _let_outlive(container, key, record.notes)
    begin = 0 if outlives_session else await _read_turns(container, key, record)
    for after in range(begin, max(last, begin + 1), BATCH_TURNS):
        through = min(after + BATCH_TURNS, last)
        turns = await _turns(container, key, after, through)
        found = await _found(container, key, turns, last=last, completion=completion, prompt=prompt)
        async with nullcontext() if outlives_session else _hold(container, key):
            left = not outlives_session and await _went_back(container, key, record)
            at = await _time(container, key, through, now, left=left)
            if not await _kept(
                container, key, turns, found, at=at, left=left, outlive=outlives_session
            ):
                return  # What was said instead, if anything, is still to be read.


def _hold(container: Container, key: SessionKey) -> AbstractAsyncContextManager[None]:
    return container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s)


async def _went_back(container: Container, key: SessionKey, begun: SessionRecord | None) -> bool:
    """Whether the session left turns since an offload began, when its record was `begun`."""
    record = await container.directory.find(key)
    return record is not None and record.restores != (begun.restores if begun else 0)


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
    outlive: bool,
) -> bool:
    """Write what came of turns that were read; False if they were deleted, or all undone, since."""
    if not outlive and await container.directory.find(key) is None:
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
    if outlive:
        # Not before the record names them: else nobody could find them to delete them after all.
        await _let_outlive(container, key, names)
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
    asked = await ask(completion, prompt, inputs, parser(SessionMemory), repairs=0)
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


async def _let_outlive(container: Container, key: SessionKey, names: Iterable[str]) -> None:
    """Let notes, also those of earlier offloads, outlive the session."""
    for name in names:
        note = await container.artifacts.get(key.tenant, name)
        if note is not None and note.session == key.session:
            await container.artifacts.add([note.model_copy(update={"session": None})])
