"""Everything the Generator's parts need to know of a turn, and what they hand back."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from core.domain.language.detect import language_of
from core.domain.language.sentences import split_sentences
from core.models.embedded.compressor import offered_options
from core.models.embedded.corrections import corrected_in
from core.models.embedded.matching import Fact, once, terms_of
from core.models.embedded.overtaking import overtaken
from core.models.embedded.prompt_reading import Prompt, ToolReply, read_inputs
from core.models.embedded.relations import find_claim, find_relations, status_of
from core.models.embedded.transcript import Spoken, state_of_transcript
from core.models.embedded.views import (
    BulletView,
    StateView,
    bullets_of,
    state_of,
    texts_of,
    turn_input_of,
)
from core.models.embedded.wording import Language, say
from schemas.authority import Authority
from schemas.interaction import TurnInput

_TOLD_CLAIM = re.compile(r"\(a claim\)$|の発言：「")
_GENERAL = re.compile(r"\b(?:if|when|whenever|in case)\b|(?:と|たら|れば|場合は?)、", re.IGNORECASE)
_TURN_ID = re.compile(r"turn:.{1,200}:(?P<turn>\d{1,9})$", re.DOTALL)
_WHEN_CLAIMED = 0.6
_WHEN_GENERAL = 0.8
"""What holds under a condition answers less well than what was observed."""

_ARROWS = {
    "cause": {"en": "{b}, because: {a}", "ja": "{a} → {b}"},
    "after": {"en": "{b}, after: {a}", "ja": "{a} の後に {b}"},
    "before": {"en": "{a}, before: {b}", "ja": "{b} の前に {a}"},
    "claim": {"en": '{a} says: "{b}" (a claim)', "ja": "{a}の発言：「{b}」"},
}


@dataclass(frozen=True)
class Situation:
    """x_t with the state, playbook, tools and tool replies the Generator was given."""

    text: str
    language: Language
    state: StateView
    authority: Authority = Authority.USER
    bullets: tuple[BulletView, ...] = ()
    warnings: tuple[str, ...] = ()
    replies: tuple[ToolReply, ...] = ()
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def options(self) -> list[str]:
        """Options on offer."""
        return offered_options(self.state.ccs.episodic_trace)

    def tell_rule(self, name: str, **values: object) -> str:
        """A sentence about rules; of rules that are only read off messages, what is true then."""
        return say(name if self.state.pinned else f"unpinned_{name}", self.language, **values)


@dataclass(frozen=True)
class Said:
    """An answer: its lines, why, and the bullets it rests on."""

    lines: tuple[str, ...]
    why: str
    bullet_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A tool to call before anything can be answered."""

    name: str
    args: Mapping[str, object]


def situation_of(prompt: Prompt) -> Situation:
    """Read the Generator's request; an x_t that is not the user's comes as a quoted input.

    So does one that the contents do not end with, because other agents have spoken since.
    """
    quoted = read_inputs(prompt.text).get("current_input") or prompt.inputs.get("current_input")
    turn_input = turn_input_of(prompt.text if quoted is None else quoted)
    return Situation(
        text=turn_input.text,
        authority=turn_input.authority,
        language=language_of(turn_input.text),
        state=_state(prompt, turn_input),
        bullets=tuple(bullets_of(prompt.inputs.get("playbook"))),
        warnings=tuple(texts_of(prompt.inputs.get("warnings"))),
        replies=prompt.replies,
        tools=prompt.tools,
    )


def _state(prompt: Prompt, current: TurnInput) -> StateView:
    """The state that the request brings, or what its messages tell where it brings none."""
    if "state" in prompt.inputs:
        return state_of(prompt.inputs.get("state"))
    said = [Spoken(text, role == "user" and not read_inputs(text)) for role, text in prompt.earlier]
    return state_of_transcript(
        said, Spoken(current.text, current.authority.may_rule), prompt.inputs
    )


def facts_held(situation: Situation) -> list[Fact]:
    """What the state and the playbook say, each with its citation; newest first.

    What a newer fact or status overtakes is left out, and so is what only repeats the goal.
    """
    ccs, language = situation.state.ccs, situation.language
    current = dict(filter(None, map(status_of, ccs.relational_map)))
    told = newest(_told(situation))
    facts = [
        replace(fact, weight=fact.weight * _certainty(fact.text))
        for fact in told
        if not _outdated(fact.text, current) and not _repeats(fact.text, ccs.goal_orientation)
    ]
    facts += [Fact(told_relation(item, language), weight=0.95) for item in ccs.relational_map]
    facts += [
        Fact(text, situation.state.constraint_id(text), weight=0.8) for text in ccs.constraints
    ]
    return facts + [Fact(item.content, item.id, weight=0.6) for item in situation.bullets]


def _certainty(text: str) -> float:
    """How much a text counts as an observed fact."""
    if is_claim(text):
        return _WHEN_CLAIMED
    return _WHEN_GENERAL if is_general(text) else 1.0


def newest(facts: Iterable[Fact]) -> list[Fact]:
    """Facts by turn, newest first, without those that a newer one overtakes or corrects."""
    told = sorted(facts, key=lambda fact: -fact.turn)
    wrong = _corrected(told)
    ordered = once(fact for fact in told if fact not in wrong)
    gone = overtaken(fact.text for fact in ordered)
    hints: dict[str, str] = {}
    for older, newer in (*gone.items(), *((fact.text, text) for fact, text in wrong.items())):
        hints[newer] = f"{hints.get(newer, '')} {older}"
    return [
        replace(fact, hint=hints.get(fact.text, "")) for fact in ordered if fact.text not in gone
    ]


def _corrected(facts: Iterable[Fact]) -> dict[Fact, str]:
    """What turns of one session said that a later one of them corrects, each with its words.

    Only of these is it known which came first; the gist was corrected when it was written.
    """
    said: dict[str, list[Fact]] = {}
    for fact in facts:
        if turn_of(fact.cite):
            said.setdefault(fact.cite.rpartition(":")[0], []).append(fact)
    wrong: dict[Fact, str] = {}
    for session in said.values():
        by_turn = sorted(session, key=lambda fact: -turn_of(fact.cite))
        gone = corrected_in([fact.text for fact in by_turn])
        wrong |= {by_turn[older]: by_turn[newer].text for older, newer in gone.items()}
    return wrong


def turn_of(artifact_id: str) -> int:
    """The turn in the id of a turn's artifact; 0 for any other artifact."""
    match = _TURN_ID.match(artifact_id)
    return int(match["turn"]) if match else 0


def _told(situation: Situation) -> Iterator[Fact]:
    """Facts of the gist, which has the newest first, and of the references."""
    ccs, turn = situation.state.ccs, situation.state.turn
    for age, sentence in enumerate(split_sentences(ccs.semantic_gist)):
        yield Fact(sentence, weight=1.1, turn=max(1, turn - age))
    for item in ccs.retrieved_artifacts:
        cite = _id_in(item)
        yield Fact(_without_id(item), cite, turn=turn_of(cite))


def _repeats(text: str, goal: str) -> bool:
    """Whether a text only says the goal once more."""
    return bool(goal) and terms_of(text) <= terms_of(goal)


def _outdated(text: str, current: Mapping[str, str]) -> bool:
    """Whether a text tells a status that the relational map has a newer one for."""
    told = dict(filter(None, map(status_of, find_relations(text))))
    return any(current.get(name, value) != value for name, value in told.items())


def is_claim(text: str) -> bool:
    """Whether a text reports what somebody else says."""
    return find_claim(text) is not None or _TOLD_CLAIM.search(text) is not None


def is_general(text: str) -> bool:
    """Whether a text says what holds under a condition, not what was observed."""
    return _GENERAL.search(text) is not None


def told_relation(item: str, language: Language) -> str:
    """An item of the relational map in words."""
    if found := status_of(item):
        return f"{found[0]}：{found[1]}" if language == "ja" else f"{found[0]} is {found[1]}"
    kind, _, rest = item.partition(": ")
    a, separator, b = rest.partition(" -> ")
    if separator and kind in _ARROWS:
        return _ARROWS[kind][language].format(a=a, b=b)
    return item


def _id_in(item: str) -> str:
    head, separator, _ = item.partition("] ")
    return head[1:] if separator and head.startswith("[") else ""


def _without_id(item: str) -> str:
    return item.partition("] ")[2] if _id_in(item) else item
