"""Play the Generator: answer by quoting state, playbook, tools and evidence, with citations.

Parts are asked in order, the first that has something to say answers: a constraint in the way
comes before everything that x_t asks for.
"""

from collections.abc import Callable, Iterable

from core.domain.tokens import clip_tokens
from core.models.embedded.choice_answers import choose_options
from core.models.embedded.fact_answers import (
    acknowledge,
    answer,
    answer_order,
    greet,
    take_correction,
    take_in,
    take_praise,
)
from core.models.embedded.formula_lessons import calculate_formula
from core.models.embedded.option_answers import list_options, resolve_option, take_options
from core.models.embedded.prompt_reading import Prompt
from core.models.embedded.rule_answers import confirm_rules, permit, refuse, take_claim
from core.models.embedded.situation import Call, Said, Situation, situation_of
from core.models.embedded.state_answers import tell_state
from core.models.embedded.tool_use import SEARCH, answer_from, asked_call
from core.models.embedded.wording import NOTE, say
from schemas.generation import GeneratorOutput

_LABEL_TURNS = 1
"""Turns at the start of a session whose answers carry the label."""

_NOTE_TOKENS = 120
"""Of a warning that is passed on."""


def generate(prompt: Prompt) -> GeneratorOutput | Call:
    """The answer to x_t, or the tool call that it needs first."""
    situation = situation_of(prompt)
    said = _say(situation)
    return said if isinstance(said, Call) else _output(situation, said)


def _say(situation: Situation) -> Said | Call:
    if situation.replies:
        return answer_from(situation)
    if not situation.authority.may_rule:
        return take_in(situation)
    for part in _PARTS:
        if (said := part(situation)) is not None:
            return said
    return acknowledge(situation)


def _output(situation: Situation, said: Said) -> GeneratorOutput:
    lines = [*said.lines, *_notes(situation)]
    if situation.state.turn <= _LABEL_TURNS:
        lines.append(NOTE[situation.language])
    return GeneratorOutput(
        reasoning=[said.why],
        bullet_ids=list(said.bullet_ids),
        final_answer="\n".join(line for line in lines if line),
    )


def _notes(situation: Situation) -> Iterable[str]:
    for warning in situation.warnings[:2]:
        yield say("warning", situation.language, what=clip_tokens(warning, _NOTE_TOKENS))


def _tool(situation: Situation) -> Said | Call | None:
    call = asked_call(situation)
    if call is None:
        return None
    if call.name in situation.tools:
        return call
    if call.name == SEARCH:
        return None
    line = say("no_tool", situation.language, tool=call.name)
    return Said((line,), f"{call.name} is not declared")


_PARTS: tuple[Callable[[Situation], Said | Call | None], ...] = (
    greet,
    refuse,
    choose_options,
    calculate_formula,
    confirm_rules,
    take_options,
    _tool,
    list_options,
    resolve_option,
    tell_state,
    permit,
    take_correction,
    answer,
    take_claim,
    answer_order,
    take_praise,
)
