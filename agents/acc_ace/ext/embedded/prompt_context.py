"""The Generator's view of a turn, and the results of its parts.

If a request has no state, as of an agent without our memory, the state is derived from the
messages: rules in force, facts newest first, relations, goal, options. A rule that the window has
dropped is unknown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.ccs import empty_ccs
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import Attachment, TurnInput
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.rules.mentions import ended_in, goal_in, rules_in
from acc_ace.core.text.sentences import split_sentences
from acc_ace.ext.embedded.gist import facts_of, listed_options, said_and_answered
from acc_ace.ext.embedded.phrases import Language, say
from acc_ace.ext.embedded.prompt_parts import PromptParts, ToolReply, read_inputs
from acc_ace.ext.embedded.relations import find_relations, latest
from acc_ace.ext.embedded.roles.compressor import offered_options
from acc_ace.ext.embedded.superseded_facts import corrected
from acc_ace.ext.embedded.text_match import unique
from acc_ace.ext.embedded.views import (
    BulletView,
    StateView,
    attachments_of,
    bullets_of,
    mapping_of,
    state_of,
    text_of,
    texts_of,
    turn_input_of,
)

_OPENING = re.compile(r'<artifact id="([^"]{1,200})"')
_MARGIN = "| "
_MAX_FACTS = 200
_MAX_RELATIONS = 60
_PASSAGE_FACTS = 3


@dataclass(frozen=True)
class PromptContext:
    """x_t with the state, playbook, tools and tool replies of the request."""

    text: str
    language: Language
    state: StateView
    authority: Authority = Authority.USER
    attachments: tuple[Attachment, ...] = ()
    bullets: tuple[BulletView, ...] = ()
    warnings: tuple[str, ...] = ()
    replies: tuple[ToolReply, ...] = ()
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def options(self) -> list[str]:
        """The options on offer."""
        return offered_options(self.state.ccs.episodic_trace)

    def chosen_line(self, number: int | None, option: str | None) -> str:
        """'Option 2: …', with the option's number in the list."""
        place = len(self.options) if number == -1 else number
        return say("chosen", self.language, number=place, option=option)

    def rule_line(self, name: str, **values: object) -> str:
        """A sentence about rules, with a remark if they were only derived from messages."""
        line = say(name, self.language, **values)
        return line if self.state.pinned else f"{line} {say('unpinned', self.language)}"


@dataclass(frozen=True)
class RuleAnswer:
    """An answer: its lines, the reason, and the bullets it rests on."""

    lines: tuple[str, ...]
    why: str
    bullet_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A tool call that must precede the answer."""

    name: str
    args: Mapping[str, object]


def prompt_context(prompt: PromptParts) -> PromptContext:
    """Read the Generator's request; an x_t that is not the user's is a quoted input.

    So is an x_t that is not the last content, because other agents have spoken since.
    """
    quoted = read_inputs(prompt.text).get("current_input") or prompt.inputs.get("current_input")
    turn_input = turn_input_of(prompt.text if quoted is None else quoted)
    return PromptContext(
        text=turn_input.text,
        authority=turn_input.authority,
        attachments=(*turn_input.attachments, *attachments_of(prompt.attachments)),
        language=language_of(turn_input.text),
        state=_state(prompt, turn_input),
        bullets=tuple(bullets_of(prompt.inputs.get("playbook"))),
        warnings=tuple(texts_of(prompt.inputs.get("warnings"))),
        replies=prompt.replies,
        tools=prompt.tools,
    )


def _state(prompt: PromptParts, current: TurnInput) -> StateView:
    """The request's state, or one derived from its messages."""
    if "state" in prompt.inputs:
        return state_of(prompt.inputs.get("state"))
    past = [Spoken(text, role == "user" and not read_inputs(text)) for role, text in prompt.earlier]
    return state_of_transcript(
        past, Spoken(current.text, current.authority.may_rule), prompt.inputs
    )


@dataclass(frozen=True)
class Spoken:
    """A message, and whether the user wrote it."""

    text: str
    by_user: bool


def state_of_transcript(
    messages: Sequence[Spoken], current: Spoken, inputs: Mapping[str, object]
) -> StateView:
    """Derive a state from the messages, x_t and the blocks `summary` and `recalled`."""
    spoken = [item.text for item in (*messages, current) if item.by_user]
    answers = [item.text for item in messages if not item.by_user]
    summary = text_of(mapping_of(inputs.get("summary")).get("text"))
    reported = [*reversed([item.text for item in (*messages, current)]), summary]
    facts = _facts(spoken)
    pins, ended = _rules([*split_sentences(summary), *spoken])
    ccs = empty_ccs().model_copy(
        update={
            "episodic_trace": next((a for a in reversed(answers) if listed_options(a)), ""),
            "semantic_gist": "\n".join([*facts, *split_sentences(summary)]),
            "relational_map": latest(
                r for text in reported for r in reversed(find_relations(text))
            )[:_MAX_RELATIONS],
            "goal_orientation": _goal(spoken),
            "constraints": [pin.text for pin in pins],
            "retrieved_artifacts": list(_passages(texts_of(inputs.get("recalled")))),
        }
    )
    return StateView(
        ccs=ccs,
        pins=tuple(pins),
        turn=len(spoken),
        pinned=False,
        ended=ended and current.by_user,
    )


def _facts(spoken: Sequence[str]) -> list[str]:
    """The user's facts, newest first, without corrected ones."""
    facts: list[str] = []
    for text in spoken:
        reported = facts_of(text)
        facts_now = corrected(reported, facts) if is_correction(text) else facts
        facts = unique([*reported, *facts_now])[:_MAX_FACTS]
    return facts


def _rules(spoken: Sequence[str]) -> tuple[list[ConstraintPin], bool]:
    """The rules in force after all messages, oldest first; whether the last message ended any."""
    pins: list[ConstraintPin] = []
    ended = False
    number = 0
    for turn, text in enumerate(spoken, start=1):
        ended_ids = {pin.id for pin, _ in ended_in(text, pins)}
        ended = bool(ended_ids)
        pins = [pin for pin in pins if pin.id not in ended_ids]
        for rule in unique([quote.text for quote in rules_in(text)]):
            if rule not in {pin.text for pin in pins}:
                number += 1
                pins.append(_pin(f"said-{number}", rule, turn))
    return pins, ended


def _pin(name: str, rule: str, turn: int) -> ConstraintPin:
    """A rule of a message; its id is local and cannot be used to release it."""
    return ConstraintPin(id=name, text=rule, authority=Authority.USER, origin_turn=turn, quote=rule)


def _goal(spoken: Sequence[str]) -> str:
    goal = ""
    for text in spoken:
        stated = None if goal else goal_in(text)
        goal = stated.text if stated else goal
    return goal


def _passages(quoted: Sequence[str]) -> Iterator[str]:
    """References to quoted artifacts, one per fact."""
    for block in quoted:
        opening, _, rest = block.partition("\n")
        named = _OPENING.match(opening)
        lines = [line.removeprefix(_MARGIN) for line in rest.splitlines()[:-1]]
        message, _ = said_and_answered("\n".join(lines))
        for fact in facts_of(message)[:_PASSAGE_FACTS]:
            yield f"[{named[1]}] {fact}" if named else fact
