"""`embedded/policy`: the survivor's thinker without an LLM, behind ADK's model interface.

A pure function of the request's text: it reads slots, logs, playbook and rules from the prompt,
and plans with the planner. Any other request it answers as `embedded/rules` does.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from google.adk.models.llm_request import LlmRequest

from acc_ace.core.schemas.bullet import EPOCH, Bullet
from acc_ace.core.text.polarity import negated
from acc_ace.errors import InputError
from acc_ace.ext.embedded.model import EmbeddedLlm
from acc_ace.ext.embedded.prompt_context import Call
from acc_ace.ext.embedded.prompt_parts import read_prompt
from acc_ace.ext.embedded.views import BulletView, bullets_of, state_of, text_of, turn_input_of
from acc_ace.ext.survivor.exploration import Outlook
from acc_ace.ext.survivor.planner import Belief, Beliefs, Stance, plan_steps
from acc_ace.ext.survivor.safety_sentinel import SafetySentinel, plan_of
from acc_ace.ext.survivor.state_formatter import read
from acc_ace.ext.survivor.survival import Action, ActionType, AlertUpdate, Plan
from acc_ace.ext.survivor.world_rules import CREATURES, GAINS, KINDS, Nature
from acc_ace.model_settings import POLICY_MODEL
from acc_ace.models.response_shape import json_schema_of


class PolicyLlm(EmbeddedLlm):
    """Plans for the survivor; the same request gives the same plan in every process."""

    model: str = POLICY_MODEL
    note: ClassVar[str] = "a planner, not an LLM"

    @classmethod
    def supported_models(cls) -> list[str]:
        """Model name patterns for ADK's registry."""
        return [re.escape(POLICY_MODEL)]

    def reply(self, llm_request: LlmRequest) -> Call | object:
        """A Plan where one is asked for."""
        properties = (json_schema_of(llm_request) or {}).get("properties") or {}
        if "objective" not in properties:
            return super().reply(llm_request)
        return decide(read_prompt(llm_request).inputs).model_dump(mode="json")


def decide(inputs: Mapping[str, object]) -> Plan:
    """The plan for a prompt's inputs; where the slots cannot be read it is to wait."""
    try:
        outlook = read(text_of(inputs.get("slots")))
    except InputError as error:
        return Plan(objective=f"wait: {error}", actions=(Action(type=ActionType.WAIT),))
    report = turn_input_of(inputs.get("current_input")).text
    experience = f"{text_of(inputs.get('logs'))}\n{report}"
    beliefs = beliefs_of(bullets_of(inputs.get("playbook")), experience)
    pins = state_of(inputs.get("state")).pins
    # No clock: a rule with a window of time is read as of a fixed moment; the engine has the time.
    allowed = SafetySentinel(pins, EPOCH).allowed(outlook)
    met = dict.fromkeys(
        (*outlook.creatures.values(), *outlook.things.values(), *outlook.places.keys())
    )
    relied_on = (beliefs[name].bullet_id for name in met if name in beliefs)
    return plan_of(
        plan_steps(allowed, beliefs),
        reflection=" ".join(f"{name}: {stance}." for name, stance in dict(felt(report)).items()),
        alert_updates=tuple(_alerts(report, outlook)),
        exploration_priorities=tuple(name for name in met if name not in beliefs),
        bullet_ids=tuple(dict.fromkeys(filter(None, relied_on))),
    )


def beliefs_of(bullets: Iterable[BulletView | Bullet], experience: str) -> Beliefs:
    """What each kind is believed to be: by the best proven bullet, the newest on a tie, and by what
    this life taught, which overrides it. A bullet that did more harm than good says nothing.

    Of `experience`, lines of the alert log count by their words, others by changes of the body
    that they name, and those about signs not at all.
    """
    beliefs: dict[str, Belief] = {}
    for bullet in sorted(bullets, key=lambda each: each.helpful - each.harmful):
        if bullet.harmful > bullet.helpful:
            continue
        weight = (1 + bullet.helpful) / (1 + bullet.helpful + bullet.harmful)
        for name, stance in stances(bullet.content):
            beliefs[name] = Belief(stance, weight, bullet.id)
    for line in experience.splitlines():
        if not line.casefold().startswith("sign"):
            held_now = stances(line) if line.startswith("alert:") else felt(line)
            beliefs.update((name, Belief(stance)) for name, stance in held_now)
    return beliefs


_DAMAGE = -2
"""Hunger takes a point of life in a step, so that one point proves nothing."""

_NAME = re.compile(rf"\b({'|'.join((*KINDS, *CREATURES))})(?:s|es)?\b")
_SENTENCE = re.compile(r"[.;!?\n]")
_CHANGE = re.compile(r"\b(life|food|water) ([+-]\d+)")
_LOST = re.compile(r"^(?:damage:)? ?(\d+) by ")
_WORDS: Final[tuple[tuple[Stance, re.Pattern[str]], ...]] = (
    ("harmless", re.compile(r"\b(?:harmless|ignore)\b")),
    (Nature.DANGER, re.compile(r"\b(?:avoid|danger\w*|harm\w*|hurt\w*|keep away|hunts?|bites?)\b")),
    (Nature.FOOD, re.compile(r"\b(?:eat|food|energy)\b")),
    (Nature.WATER, re.compile(r"\b(?:drink|water)\b")),
    (Nature.REMEDY, re.compile(r"\b(?:heals?|remedy|cures?)\b")),
)


def felt(text: str) -> Iterator[tuple[str, Stance]]:
    """What 'used cone: food +24' or 'damage: 8 by torus' shows of the kinds that are named."""
    for name, sentence in _subjects(text):
        changes = {part: int(points) for part, points in _CHANGE.findall(sentence)}
        if lost := _LOST.search(sentence):
            changes["life"] = -int(lost[1])
        gained = max(changes, key=lambda part: changes[part], default="")
        if gained and changes[gained] > 0:
            yield name, GAINS[gained]
        elif changes.get("life", 0) <= _DAMAGE:
            yield _of(name, Nature.DANGER)


def stances(text: str) -> Iterator[tuple[str, Stance]]:
    """What a lesson says of kinds, in numbers or in words; each sentence is about the first."""
    yield from felt(text)
    for name, sentence in _subjects(text):
        natures = [stance for stance, words in _WORDS if words.search(sentence)]
        if natures and not _CHANGE.search(sentence):
            is_denied = natures[0] in GAINS.values() and negated(sentence)
            yield _of(name, Nature.DANGER if is_denied else natures[0])


def _subjects(text: str) -> Iterator[tuple[str, str]]:
    for sentence in _SENTENCE.split(text.casefold()):
        if name := _NAME.search(sentence):
            yield name[1], sentence


def _of(name: str, stance: Stance) -> tuple[str, Stance]:
    """A creature that harms is a hunter."""
    return name, "hunter" if stance is Nature.DANGER and name in CREATURES else stance


def _alerts(report: str, outlook: Outlook) -> Iterator[AlertUpdate]:
    """An entry for each kind that the report says did damage."""
    for name, kind in dict(felt(report)).items():
        if kind in {Nature.DANGER, "hunter"}:
            yield AlertUpdate(
                cause=name,
                condition="by night" if outlook.is_night else "by day",
                avoidance="keep away, go to the safe area" if kind == "hunter" else "do not use it",
            )
