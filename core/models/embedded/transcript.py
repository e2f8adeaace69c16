"""Read a situation off the messages of a conversation, where a request brings no state.

With a classic memory strategy a model is shown messages. This engine then notes of them what it
would have been told by a state: rules still in force, facts newest first, relations, goal,
options. It knows what the messages say and nothing else; a rule that the window has dropped is
gone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.domain.language.goal_detection import detect_goal
from core.domain.language.rule_changes import detect_changes
from core.domain.language.rule_detection import detect_rules
from core.domain.language.sentences import split_sentences
from core.domain.plain_text import one_line
from core.models.embedded.corrections import corrected
from core.models.embedded.gist import facts_of, said_and_answered
from core.models.embedded.matching import unique
from core.models.embedded.options import listed_options
from core.models.embedded.relations import find_relations, latest
from core.models.embedded.speech import is_correction
from core.models.embedded.views import StateView, mapping_of, text_of, texts_of
from schemas.authority import Authority
from schemas.ccs import empty_ccs
from schemas.commit import ConstraintPin

_OPENING = re.compile(r'<artifact id="([^"]{1,200})"')
_MARGIN = "| "
_NAMED = re.compile(r"\[(c-\d{4,9})\]")
_QUOTED = re.compile(r"\"(.{1,2000})\"|「(.{1,2000})」")
_LISTED = re.compile(r"(?:- )?(.{1,2000}) \[c-\d{4,9}\]$")
_MAX_FACTS = 200
_MAX_RELATIONS = 60
_PASSAGE_FACTS = 3


@dataclass(frozen=True)
class Spoken:
    """A text of the conversation and who spoke."""

    text: str
    by_user: bool


def state_of_transcript(
    said: Sequence[Spoken], current: Spoken, inputs: Mapping[str, object]
) -> StateView:
    """What the messages, x_t and the blocks `summary` and `recalled` tell, as a state."""
    spoken = [item.text for item in (*said, current) if item.by_user]
    answers = [item.text for item in said if not item.by_user]
    summary = text_of(mapping_of(inputs.get("summary")).get("text"))
    told = [*reversed([item.text for item in (*said, current)]), summary]
    facts = _facts(spoken)
    pins, ended = _rules([*split_sentences(summary), *spoken], _cited(answers))
    ccs = empty_ccs().model_copy(
        update={
            "episodic_trace": next((a for a in reversed(answers) if listed_options(a)), ""),
            "semantic_gist": "\n".join([*facts, *split_sentences(summary)]),
            "relational_map": latest(r for text in told for r in reversed(find_relations(text)))[
                :_MAX_RELATIONS
            ],
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
        ended=ended if current.by_user else (),
    )


def _facts(spoken: Sequence[str]) -> list[str]:
    """What the user said, newest first, without what a correction took the place of."""
    facts: list[str] = []
    for text in spoken:
        told = facts_of(text)
        held = corrected(told, facts) if is_correction(text) else facts
        facts = unique([*told, *held])[:_MAX_FACTS]
    return facts


def _cited(answers: Sequence[str]) -> dict[str, str]:
    """Rules that lines of answers quote with one id, by their words; the newest id of each.

    A memory that pins gave them, so that a rule can be released here by the id that it was given.
    """
    named: dict[str, str] = {}
    for line in (line for answer in reversed(answers) for line in answer.splitlines()):
        ids = _NAMED.findall(line)
        quoted = _LISTED.match(line) or _QUOTED.search(line)
        if len(ids) == 1 and quoted:
            named.setdefault(one_line(next(filter(None, quoted.groups()))), ids[0])
    return named


def _rules(
    spoken: Sequence[str], cited: Mapping[str, str]
) -> tuple[list[ConstraintPin], tuple[str, ...]]:
    """The rules in force after all that was said, oldest first, and those that the last ended."""
    pins: list[ConstraintPin] = []
    ended: tuple[str, ...] = ()
    number = 0
    for turn, text in enumerate(spoken, start=1):
        changes = detect_changes(text, pins)
        gone = {change.constraint_id for change in changes}
        ended = tuple(pin.text for pin in pins if pin.id in gone)
        pins = [pin for pin in pins if pin.id not in gone]
        amended = [change.new_text for change in changes if change.new_text]
        for rule in unique([*amended, *(span.text for span in detect_rules(text))]):
            if rule not in {pin.text for pin in pins}:
                number += 1
                name = cited.get(one_line(rule), "")
                taken = not name or any(pin.id == name for pin in pins)
                pins.append(_pin(f"said-{number}" if taken else name, rule, turn))
    return pins, ended


def _pin(name: str, rule: str, turn: int) -> ConstraintPin:
    """A rule that was said; nobody can release it by a name that it was given here."""
    return ConstraintPin(id=name, text=rule, authority=Authority.USER, origin_turn=turn, quote=rule)


def _goal(spoken: Sequence[str]) -> str:
    goal = ""
    for text in spoken:
        span = detect_goal(text)
        if span is not None and (span.explicit or not goal):
            goal = span.text
    return goal


def _passages(quoted: Sequence[str]) -> Iterator[str]:
    """References with a fact each, from quoted artifacts."""
    for block in quoted:
        opening, _, rest = block.partition("\n")
        named = _OPENING.match(opening)
        lines = [line.removeprefix(_MARGIN) for line in rest.splitlines()[:-1]]
        said, _ = said_and_answered("\n".join(lines))
        for fact in facts_of(said)[:_PASSAGE_FACTS]:
            yield f"[{named[1]}] {fact}" if named else fact
