"""A session's history goes to long-term memory."""

from collections.abc import Sequence

from core.container import Container
from core.domain.prompt import Prompt
from core.domain.session_notes import extract_by_rule, notes_of
from core.domain.tokens import clip_tokens
from core.domain.transcript import message_text, messages_of
from core.ports.completion import Completion
from core.turn.asking import ask
from core.turn.parsing import parser
from schemas.artifact import Artifact
from schemas.interaction import Interaction, Outcome
from schemas.session_memory import SessionMemory
from schemas.tenancy import SessionKey

READ_TURNS = 200
"""Newest turns of a session that are looked at."""

_LAST_STATES = 5
_PAGE = 50
_SHOWN_TOKENS = 200


async def offload(
    container: Container,
    key: SessionKey,
    *,
    completion: Completion,
    prompt: Prompt,
    outlives_session: bool = False,
) -> Sequence[Artifact]:
    """Extract entities, preferences and lessons of a session into artifacts with provenance.

    Doing it again gives the same artifacts. A model that is down costs only what it would have
    found beyond the rules. Raises StoreError.
    """
    now = container.clock.now()
    turns = await _turns(container, key)
    # After a reset the newest state is empty, so one of the last that was not is taken.
    states = await container.journal.history(key, limit=_LAST_STATES)
    entities = next((e.state.ccs.focal_entities for e in states if e.state.ccs.focal_entities), [])
    found = [extract_by_rule(turns, entities)]
    if turns:
        inputs = {
            "messages": [
                {
                    "turn": message.turn,
                    "role": message.role,
                    "text": clip_tokens(message_text(message), _SHOWN_TOKENS),
                }
                for message in messages_of(turns[-_PAGE:])
            ],
            "entities": entities,
        }
        asked = await ask(completion, prompt, inputs, parser(SessionMemory), repairs=0)
        found = [*([asked.value] if asked.value else []), *found]
    notes = notes_of(key, turns, found, at=now, outlives_session=outlives_session)
    if notes:
        await container.artifacts.add(notes)
    await container.directory.offloaded(key, at=now, notes=[note.artifact_id for note in notes])
    return notes


async def _turns(container: Container, key: SessionKey) -> list[Interaction]:
    """The session's answered turns, oldest first, at most READ_TURNS."""
    found: list[Interaction] = []
    before: str | None = None
    while len(found) < READ_TURNS:
        page = await container.evidence.list(key, limit=_PAGE, before=before)
        found += [turn for turn in page if turn.outcome is Outcome.ANSWERED]
        if len(page) < _PAGE:
            break
        before = page[-1].invocation_id
    return found[:READ_TURNS][::-1]
