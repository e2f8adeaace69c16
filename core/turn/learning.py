"""After the turn: reflect on it, tag the bullets it used, curate the playbook (ACE, section 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.domain.curation import Curated, CurationContext, curate, tag
from core.domain.prompt import Prompt
from core.domain.selection import select_bullets
from core.errors import ConflictError
from core.ports.completion import Completion
from core.ports.playbook_store import PlaybookStore
from core.turn.asking import Asked, ask
from core.turn.parsing import parser
from core.turn.prompt_values import input_value, state_value
from schemas.commit import CommittedState
from schemas.delta import DeltaBatch
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, ToolResult, TurnInput
from schemas.limits import Limits
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from schemas.reflection import Reflection
from schemas.tenancy import PlaybookScope

_COMMIT_TRIES = 5
"""Compare-and-swap tries before a batch is given up; each loser reads the newer version first."""


@dataclass(frozen=True)
class TurnOutcome:
    """The finished turn, as learning looks at it."""

    turn_input: TurnInput
    state: CommittedState
    generation: GeneratorOutput
    tool_results: Sequence[ToolResult]
    previous: Interaction | None
    warnings: Sequence[str]


@dataclass(frozen=True)
class Learned:
    """The playbook after a commit, and how each operation ended."""

    stored: StoredPlaybook
    curated: Curated
    changed: bool


async def reflect(
    outcome: TurnOutcome,
    playbook: Playbook,
    *,
    completion: Completion,
    prompt: Prompt,
    limits: Limits,
) -> Asked[Reflection]:
    """What helped and what harmed. The previous answer is shown, since x_t may correct it."""
    used = [
        {"id": bullet.id, "section": bullet.section, "content": bullet.content}
        for bullet in playbook.bullets
        if bullet.id in set(outcome.generation.bullet_ids)
    ]
    inputs = {
        "current_input": input_value(outcome.turn_input),
        "state": state_value(outcome.state),
        "generation": outcome.generation.model_dump(mode="json"),
        "tool_results": _tool_values(outcome.tool_results),
        "used_bullets": used,
        "previous_answer": _previous_value(outcome.previous),
        "warnings": list(outcome.warnings),
    }
    return await ask(completion, prompt, inputs, parser(Reflection), repairs=limits.repairs)


async def propose_deltas(
    reflection: Reflection,
    outcome: TurnOutcome,
    playbook: Playbook,
    *,
    completion: Completion,
    prompt: Prompt,
    limits: Limits,
) -> Asked[DeltaBatch]:
    """What the Curator would change. It sees the bullets that matter here, never all of many."""
    topic = f"{reflection.key_insight} {outcome.turn_input.text}"
    shown = select_bullets(playbook, topic, max_tokens=limits.playbook_prompt_tokens)
    inputs = {
        "reflection": reflection.model_dump(mode="json"),
        "playbook": playbook.as_prompt(shown),
        "stats": playbook.stats(),
        "current_input": input_value(outcome.turn_input),
        "tool_results": _tool_values(outcome.tool_results),
    }
    return await ask(completion, prompt, inputs, parser(DeltaBatch), repairs=limits.repairs)


async def apply_tags(
    store: PlaybookStore,
    scope: PlaybookScope,
    reflection: Reflection,
    used_ids: Sequence[str],
    context: CurationContext,
) -> Learned:
    """Count the tags on the bullets that were used, on whatever version is current."""
    return await _commit(
        store, scope, lambda playbook: tag(playbook, reflection.bullet_tags, used_ids, context)
    )


async def apply_batch(
    store: PlaybookStore, scope: PlaybookScope, batch: DeltaBatch, context: CurationContext
) -> Learned:
    """Apply a delta batch to whatever version is current; each operation ends on its own."""
    return await _commit(store, scope, lambda playbook: curate(playbook, batch, context))


def curation_context(
    outcome: TurnOutcome, limits: Limits, *, at: datetime, user: str, session: str
) -> CurationContext:
    """Who taught it, when, and whether it rests on more than tool or document text."""
    return CurationContext(
        limits=limits,
        at=at,
        user=user,
        session=session,
        turn=outcome.state.turn,
        grounded=outcome.turn_input.authority.may_rule,
    )


async def _commit(
    store: PlaybookStore, scope: PlaybookScope, change: Callable[[Playbook], Curated]
) -> Learned:
    for attempt in range(_COMMIT_TRIES):
        current = await store.load(scope)
        curated = change(current.playbook)
        records: Sequence[DeltaRecord] = curated.records
        if not records:
            return Learned(current, curated, changed=False)
        try:
            stored = await store.commit(
                scope, curated.playbook, records, expected_version=current.version
            )
        except ConflictError:
            if attempt == _COMMIT_TRIES - 1:
                raise
            continue
        return Learned(stored, curated, changed=stored.version != current.version)
    raise AssertionError("unreachable: the last try returns or raises")


def _tool_values(results: Sequence[ToolResult]) -> list[dict[str, object]]:
    return [result.model_dump(mode="json") for result in results]


def _previous_value(previous: Interaction | None) -> dict[str, object] | None:
    if previous is None or previous.decision is None:
        return None
    return {"input": previous.input.text, "answer": previous.decision.final_answer}
