"""Call the Reflector on a finished turn (ACE, section 3).

It runs in rounds until its reflection stays the same; the Reflector and the Curator see the same
outcome of the turn.
"""

from collections.abc import Sequence
from dataclasses import replace

from acc_ace.core.playbook.playbook_store import PlaybookReader
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.bullet import clean_id
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput, Interaction
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.schemas.reflection import BulletTag, Judgement, Reflection
from acc_ace.core.text.prompt import Prompt
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.turn.lesson_view import LessonView, lesson_view
from acc_ace.turn.structured_call import (
    Completion,
    StructuredResult,
    parser,
    structured_call,
)
from acc_ace.turn.turn_record import TurnOutcome


def with_feedback(outcome: TurnOutcome, *feedback: Judgement) -> TurnOutcome:
    """The outcome with feedback added; the previous turn is then left out."""
    return replace(outcome, feedback=(*outcome.feedback, *feedback), previous=None)


def outcome_of(interaction: Interaction, state: CommittedState) -> TurnOutcome | None:
    """The outcome of a turn from its evidence, or None when it was not answered."""
    if interaction.decision is None:
        return None
    return TurnOutcome(
        turn_input=interaction.input,
        state=state,
        generation=interaction.decision,
        tool_results=tuple(interaction.tool_results),
        feedback=tuple(item for item in interaction.feedback if item.with_turn),
        guarded=was_guarded(interaction),
        tool_calls=tuple(interaction.tool_calls),
    )


def was_guarded(turn: object) -> bool:
    """Whether the guard found a tool call of a turn that breaks a constraint."""
    return any(getattr(decision, "rule_id", "") for decision in getattr(turn, "guarded", ()))


def evidence_of(outcome: TurnOutcome) -> tuple[str, ...]:
    """Signals to learn from: 'correction', 'feedback', 'tool_error', 'recovery', 'guarded'.

    'recovery' is a success after a tool error in the previous turn. Tool text about an answer is
    no correction.
    """
    before = outcome.previous
    failed_before = before is not None and any(r.is_error for r in before.tool_results)
    corrects = (
        before is not None
        and outcome.turn_input.authority.may_rule
        and is_correction(outcome.turn_input.text)
    )
    kinds = {
        "correction": corrects,
        "feedback": bool(outcome.feedback),
        "tool_error": any(result.is_error for result in outcome.tool_results),
        "recovery": failed_before and any(not r.is_error for r in outcome.tool_results),
        "guarded": outcome.guarded,
    }
    return tuple(name for name, there in kinds.items() if there)


def reflector_inputs(
    outcome: TurnOutcome, playbook: Playbook, limits: Limits, *, whole: bool = False
) -> dict[str, object]:
    """The inputs of the Reflector's prompt, without the last round's reflection.

    `whole` is with the words of others, which else stand as placeholders.
    """
    view = lesson_view(outcome, whole=whole)
    return {
        "state": view.state,
        "current_input": view.current_input,
        "generation": view.generation,
        "tool_results": view.tool_results,
        "used_bullets": _bullet_values(playbook, outcome.used_ids),
        "previous_turn": _previous_value(view, outcome, playbook, limits),
        "feedback": view.feedback,
    }


def _bullet_values(playbook: Playbook, ids: Sequence[str]) -> list[dict[str, object]]:
    used = {clean_id(bullet_id) for bullet_id in ids}
    return [
        {"id": bullet.id, "section": bullet.section, "content": bullet.content}
        for bullet in playbook.bullets
        if bullet.id in used
    ]


def _previous_value(
    view: LessonView, outcome: TurnOutcome, playbook: Playbook, limits: Limits
) -> dict[str, object] | None:
    """The previous turn, each text clipped to the artifact limit."""
    previous = outcome.previous
    if previous is None or previous.decision is None:
        return None
    return {
        "input": clip_tokens(view.previous_input, limits.artifact_tokens),
        "answer": clip_tokens(view.previous_answer, limits.artifact_tokens),
        "used_bullets": _bullet_values(playbook, outcome.previous_ids),
    }


def plain_reflection(outcome: TurnOutcome) -> Reflection | None:
    """Tags of the used bullets where all evidence is a thumbs up without words; else None.

    There is nothing to analyse then, so no model is asked. A reward is not as plain: what earned
    it may be a lesson.
    """
    is_praise = all(_is_praise(item) for item in outcome.feedback)
    if not outcome.used_ids or evidence_of(outcome) != ("feedback",) or not is_praise:
        return None
    tags = [BulletTag(id=name, tag="helpful") for name in outcome.used_ids]
    return Reflection(reasoning="The answer was rated as good.", bullet_tags=tags)


def _is_praise(judgement: Judgement) -> bool:
    """Whether a rating is a thumbs up and says no more."""
    more = (judgement.ground_truth, judgement.comment, judgement.reward)
    return judgement.thumbs == "up" and all(each is None for each in more)


async def reflect(
    outcome: TurnOutcome,
    playbook: Playbook,
    *,
    completion: Completion,
    prompt: Prompt,
    limits: Limits,
    max_rounds: int = 1,
) -> StructuredResult[Reflection]:
    """Reflect on what helped and what harmed in this turn and in the one that x_t corrects.

    From the second round on, the Reflector sees its last reflection; it stops when that is
    unchanged, or after `max_rounds`. A failed round keeps the last reflection. Where it needs the
    words of others it is asked once more, with them; of that reply only the lesson counts, and
    `needs_text` stays set. At most `(max_rounds + 1) * (1 + limits.repairs)` model calls.
    """
    if (plain := plain_reflection(outcome)) is not None:
        return StructuredResult(value=plain)
    inputs = reflector_inputs(outcome, playbook, limits)
    result: StructuredResult[Reflection] = StructuredResult(value=None)

    async def ask() -> Reflection | None:
        nonlocal result
        fresh = await structured_call(
            completion, prompt, inputs, parser(Reflection), repairs=limits.repairs
        )
        result = result.plus(
            value=fresh.value,
            model=fresh.model,
            use=fresh.use,
            warnings=fresh.warnings,
            calls=fresh.calls,
        )
        return fresh.value

    for _ in range(max_rounds):
        last = result.value
        inputs["previous_reflection"] = last.model_dump(mode="json") if last else None
        fresh = await ask()
        if fresh is None or (last is not None and _same(last, fresh)):
            break
    first = result.value
    if first is None or not first.needs_text:
        return result
    if not lesson_view(outcome).hides:
        return replace(result, value=first.model_copy(update={"needs_text": False}))
    inputs = reflector_inputs(outcome, playbook, limits, whole=True)
    inputs["previous_reflection"] = None
    with_text = await ask()
    lesson = with_text.model_dump(include=_LESSON) if with_text else {}
    return replace(result, value=first.model_copy(update=lesson))


_LESSON = {
    "reasoning",
    "error_identification",
    "root_cause_analysis",
    "correct_approach",
    "key_insight",
}


def _same(one: Reflection, other: Reflection) -> bool:
    """Whether two reflections are equal, ignoring their reasoning."""
    return one.model_copy(update={"reasoning": ""}) == other.model_copy(update={"reasoning": ""})


async def with_current_bullets(
    outcome: TurnOutcome, store: PlaybookReader, scope: PlaybookScope, playbook: Playbook
) -> TurnOutcome:
    """The outcome with the ids of used bullets resolved to those in `playbook`.

    Feedback and corrections may come long after the answer. A removed bullet without a
    successor keeps its id, so that its tag is rejected in the log. Raises StoreError.
    """
    live = frozenset(bullet.id for bullet in playbook.bullets)

    async def current(output: GeneratorOutput) -> GeneratorOutput:
        ids = [await _current(name, live, store, scope) for name in output.bullet_ids]
        return output.model_copy(update={"bullet_ids": list(dict.fromkeys(ids))})

    previous = outcome.previous
    if _all_live(outcome.used_ids, live) and _all_live(outcome.previous_ids, live):
        return outcome
    if previous is not None and previous.decision is not None:
        previous = previous.model_copy(update={"decision": await current(previous.decision)})
    return replace(outcome, generation=await current(outcome.generation), previous=previous)


def _all_live(ids: Sequence[str], live: frozenset[str]) -> bool:
    return all(clean_id(name) in live for name in ids)


async def _current(
    name: str, live: frozenset[str], store: PlaybookReader, scope: PlaybookScope
) -> str:
    bullet_id = clean_id(name)
    if bullet_id in live:
        return bullet_id
    return await store.resolve(scope, bullet_id) or bullet_id
