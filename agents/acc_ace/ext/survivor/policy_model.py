"""`embedded/policy`: the survivor's thinker without an LLM, behind ADK's model interface.

A pure function of the request's text: it reads slots, logs, playbook and rules from the prompt,
and plans with the planner. Any other request it answers as `embedded/rules` does.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from google.adk.models.llm_request import LlmRequest

from acc_ace.core.schemas.bullet import EPOCH, Bullet
from acc_ace.core.schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from acc_ace.core.schemas.reflection import BulletTag, Reflection, Tag
from acc_ace.core.text.polarity import negated
from acc_ace.errors import InputError
from acc_ace.ext.embedded.model import EmbeddedLlm
from acc_ace.ext.embedded.prompt_context import Call
from acc_ace.ext.embedded.prompt_parts import read_prompt
from acc_ace.ext.embedded.views import (
    BulletView,
    bullets_of,
    state_of,
    text_of,
    turn_input_of,
)
from acc_ace.ext.survivor.exploration import Outlook
from acc_ace.ext.survivor.planner import (
    Belief,
    Beliefs,
    PlannedSteps,
    Stance,
    plan_steps,
    shares,
)
from acc_ace.ext.survivor.reward_synthesizer import EXTERNAL, RewardSynthesizer
from acc_ace.ext.survivor.safety_sentinel import MOST_CHANGE, SafetySentinel, plan_of
from acc_ace.ext.survivor.state_formatter import bearing, read
from acc_ace.ext.survivor.survival import (
    THRESHOLD_BOUNDS,
    Action,
    ActionType,
    AlertUpdate,
    Plan,
    StepRecord,
)
from acc_ace.ext.survivor.world_rules import CREATURES, GAINS, KINDS, Nature, target_of
from acc_ace.model_settings import POLICY_MODEL
from acc_ace.models.response_shape import json_schema_of, role_of

_HARM = 4
"""Points of life that a danger is thought to take."""

_STARVING, _DARE = 0.1, 0.2
"""Share of food or water below which more is dared; by how much the threshold rises then."""


class PolicyLlm(EmbeddedLlm):
    """Plans for the survivor; the same request gives the same plan in every process."""

    model: str = POLICY_MODEL
    note: ClassVar[str] = "a planner, not an LLM"

    @classmethod
    def supported_models(cls) -> list[str]:
        """Model name patterns for ADK's registry."""
        return [re.escape(POLICY_MODEL)]

    def reply(self, llm_request: LlmRequest) -> Call | object:
        """A Plan where one is asked for, and lessons of outcomes."""
        properties = (json_schema_of(llm_request) or {}).get("properties") or {}
        role = "thinker" if "objective" in properties else role_of(llm_request)
        own = {"thinker": decide, "reflector": hindsight, "curator": changes_of}.get(role or "")
        if own is None:
            return super().reply(llm_request)
        return own(read_prompt(llm_request).inputs).model_dump(mode="json")


def decide(inputs: Mapping[str, object]) -> Plan:
    """The plan for a prompt's inputs; where the slots cannot be read it is to wait."""
    try:
        outlook = read(text_of(inputs.get("slots")))
        setting = float(text_of(inputs.get("setting")) or outlook.threshold)
    except (InputError, ValueError) as error:
        return Plan(objective=f"wait: {error}", actions=(Action(type=ActionType.WAIT),))
    report = turn_input_of(inputs.get("current_input")).text
    logs = text_of(inputs.get("logs"))
    playbook = bullets_of(inputs.get("playbook"))
    beliefs = beliefs_of(playbook, f"{logs}\n{report}", outlook.season)
    pins = state_of(inputs.get("state")).pins
    # No clock: a rule with a window of time is read as of a fixed moment; the engine has the time.
    allowed = SafetySentinel(pins, EPOCH).allowed(outlook)
    met = dict.fromkeys(
        (*outlook.creatures.values(), *outlook.things.values(), *outlook.places.keys())
    )
    relied_on = (beliefs[name].bullet_id for name in met if name in beliefs)
    natures, care = dict(felt(report)), care_of(logs)
    ignored = dict[str, Belief]()
    if _lowest(outlook) > care.patience:
        ignored = dict.fromkeys(KINDS, Belief("harmless"))
        allowed = replace(allowed, prospects={})
    planned = plan_steps(_less(allowed, care.part), {**ignored, **beliefs})
    return plan_of(
        planned,
        reflection=_reflection(report, natures, care.resolve),
        alert_updates=tuple(
            AlertUpdate(
                cause=name,
                condition="by night" if outlook.is_night else "by day",
                avoidance=_LESSONS[stance].format(name),
            )
            for name, stance in natures.items()
            if stance in (Nature.DANGER, "hunter")
        ),
        exploration_priorities=tuple(name for name in met if name not in beliefs),
        threshold_change=_threshold_change(outlook, setting - care.caution),
        subgoals=tuple(_subgoals(planned.steps)),
        expected_reward=_expected_reward(outlook, planned),
        bullet_ids=tuple(dict.fromkeys(filter(None, relied_on))),
    )


class Care(NamedTuple):
    """What the end of the last life changes in this one."""

    resolve: str = ""
    part: str = ""
    """Of the body, a quarter of which counts as gone, so that it is sought earlier."""
    patience: float = 1.0
    """Share of food and water down to which unknown things are left alone."""
    caution: float = 0.0
    """How far the danger threshold is to stay below its setting."""


_CARES: Final = {
    "thirst": Care("Seek water earlier.", "water"),
    "hunger": Care("Seek food earlier.", "food"),
    **dict.fromkeys(KINDS, Care("Try the unknown later.", patience=0.4)),
    **dict.fromkeys((*CREATURES, "lava"), Care("Flee earlier.", caution=0.2)),
}


def care_of(logs: str) -> Care:
    """What a line such as 'meta: episode 1: died of thirst after 36 steps' asks for."""
    cause = re.search(r"^meta: episode \d+: died of (\w+)", logs, re.MULTILINE)
    return _CARES.get(cause[1], Care()) if cause else Care()


def _less(outlook: Outlook, part: str) -> Outlook:
    """The moment of a body with a quarter less of a part."""
    body = outlook.body.model_dump()
    left = {part: max(body[part] - body[f"most_{part}"] // 4, 0)} if part else {}
    return replace(outlook, body=outlook.body.model_copy(update=left))


def _lowest(outlook: Outlook) -> float:
    share = shares(outlook.body)
    return min(share["food"], share["water"])


def _threshold_change(outlook: Outlook, wanted: float) -> float | None:
    """Towards the threshold that is wanted; who starves dares more."""
    wanted += _DARE * (_lowest(outlook) <= _STARVING)
    least, most = THRESHOLD_BOUNDS
    change = min(max(wanted, least), most) - outlook.threshold
    return round(max(-MOST_CHANGE, min(change, MOST_CHANGE)), 2) or None


def _reflection(report: str, natures: Mapping[str, Stance], resolve: str) -> str:
    """What the last tick brought and showed; at first what is resolved."""
    brought = report.partition("\n")[0].partition(": reward ")[2].partition(":")[0]
    begun = f"It brought {brought}." if brought else resolve
    return " ".join([begun, *(f"{name}: {stance}." for name, stance in natures.items())]).strip()


def _subgoals(steps: Sequence[str]) -> Iterator[str]:
    """Where the moves lead, what is used, how long is waited."""
    for act, run in groupby(steps, key=lambda step: step.partition(" ")[0]):
        same = list(run)
        south, east = (sum(ways) for ways in zip(*map(target_of, same), strict=True))
        times = f" ×{len(same)}" * (len(same) > 1)
        yield f"go {bearing((south, east))}" if act == "move" else f"{same[0]}{times}"


def _expected_reward(outlook: Outlook, planned: PlannedSteps) -> float:
    """What the steps bring to a body that stays as it is, less the harm that is risked."""
    calm = StepRecord(wanted="", done="wait", status="done")
    step = RewardSynthesizer().step(calm, outlook)
    return round(len(planned.steps) * step + planned.risk * EXTERNAL["damage"] * _HARM, 2)


_FILE: Final = Path(__file__).with_suffix(".toml")
_LESSONS: Final[Mapping[str, str]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
"""What is learnt, by what is shown."""

_SECTIONS: Final = {
    **{"Avoid": "danger", "Eat": "food", "Heal": "food", "Drink": "water"},
    **{"Keep": "creatures", "Stay": "places", "Try": "plans"},
}


def hindsight(inputs: Mapping[str, object]) -> Reflection:
    """What an outcome teaches: 'Damage: use cone: life -8' or 'End: died of wolf after 9 steps'.

    It is the last line of the input; the one before says what was expected.
    """
    lines = turn_input_of(inputs.get("current_input")).text.splitlines()
    expected, outcome = ["", "", *lines][-2:]
    what, _, event = outcome.partition(": ")
    event, _, when = event.partition(" in season ")
    name = event.removeprefix("use ").removeprefix("died of ").partition(" ")[0].rstrip(":")
    is_harm = what != "Effect" and name in _CARES
    nature = _of(name, Nature.DANGER)[1] if is_harm else dict(felt(event)).get(name, "")
    meaning = name if name in _LESSONS else nature
    thing = f"{name}{'es' if name.endswith('s') else 's'}" if name in KINDS else name
    season = int(when[0]) if when and name in KINDS else None
    used = bullets_of(inputs.get("used_bullets"))
    beliefs = {bullet.id: beliefs_of([bullet], "", season).get(name) for bullet in used}
    is_trial = what == "End" and name in KINDS and not any(beliefs.values())
    return Reflection(
        reasoning=f"{outcome}. {expected}",
        error_identification=event if is_harm else "",
        correct_approach="Try unknown things only while life is full." if is_trial else "",
        key_insight=_LESSONS.get(meaning, "").format(
            thing if season is None else f"{thing} in season {season}"
        ),
        bullet_tags=[
            BulletTag(id=bullet, tag=_judged(belief, meaning)) for bullet, belief in beliefs.items()
        ],
    )


def _judged(belief: Belief | None, meaning: str) -> Tag:
    """How a belief did; what is said of another season may fail in this one."""
    if belief is not None and belief.nature == meaning:
        return "helpful"
    return "harmful" if belief is not None and belief.is_of_now else "neutral"


def changes_of(inputs: Mapping[str, object]) -> DeltaBatch:
    """What a reflection changes in the playbook: its section, and the outcome as the rationale.

    A kind has one bullet, to which what it is in another season is added.
    """
    reflection = Reflection.model_validate(inputs.get("reflection") or {})
    bullets = bullets_of(inputs.get("playbook"))
    operations = [
        DeltaOperation(
            rationale=reflection.reasoning,
            type=DeltaType.UPDATE if old else DeltaType.ADD,
            section=old.section if old else _SECTIONS.get(lesson.partition(" ")[0], "plans"),
            content=_joined(old.content, lesson) if old else lesson,
            bullet_id=old.id if old else None,
            priority="high" if reflection.error_identification else "normal",
        )
        for lesson in (reflection.key_insight, reflection.correct_approach)
        for old in [_bullet_of(lesson, bullets)]
        if lesson and not (old and _joined(old.content, lesson) == old.content)
    ]
    return DeltaBatch(operations=operations)


def _bullet_of(lesson: str, bullets: Iterable[BulletView]) -> BulletView | None:
    """The bullet that a lesson is added to: of the same kind, in the same form, and believed."""
    kinds = {kind for kind, _ in _clauses(lesson)}
    for bullet in bullets:
        if bullet.content == lesson:
            return bullet
        is_alike = kinds and kinds == {kind for kind, _ in _clauses(bullet.content)}
        if is_alike and bullet.helpful >= bullet.harmful:
            return bullet
    return None


def _clauses(content: str) -> dict[tuple[str, str], set[str]]:
    """The seasons of 'Eat discs in season 0; avoid discs in season 1, 2.' by kind and verb.

    Nothing where a part is in another form.
    """
    parts = [_CLAUSE.fullmatch(part) for part in content.rstrip(".").split("; ")]
    return (
        {(part[2], part[1].casefold()): set(part[3].split(", ")) for part in parts if part}
        if all(parts)
        else {}
    )


def _joined(content: str, lesson: str) -> str:
    """A bullet with a lesson, in place of what it said of that season."""
    clauses = _clauses(content)
    for clause, seasons in _clauses(lesson).items():
        clauses = {old: times - seasons for old, times in clauses.items()}
        clauses[clause] = clauses.get(clause, set()) | seasons
    text = "; ".join(
        f"{verb} {kind} in season {', '.join(sorted(seasons))}"
        for (kind, verb), seasons in clauses.items()
        if seasons
    )
    return f"{text[0].upper()}{text[1:]}." if text else content


def beliefs_of(
    bullets: Iterable[BulletView | Bullet], experience: str, season: int | None = None
) -> Beliefs:
    """What each kind is believed to be: by the best proven bullet, the newest on a tie, and by what
    this life taught, which overrides it. A bullet that did more harm than good says nothing.

    Of `experience`, lines of the alert log count by their words, others by changes of the body
    that they name, those about signs and of scripts not at all. A sentence on a `season` holds in
    it before what is said in general; of another one it holds where nothing else is known.
    """
    claims = list[tuple[int, str, Belief]]()
    for bullet in sorted(bullets, key=lambda each: each.helpful - each.harmful):
        if bullet.harmful > bullet.helpful:
            continue
        weight = (1 + bullet.helpful) / (1 + bullet.helpful + bullet.harmful)
        for sentence in _SENTENCE.split(bullet.content):
            for name, stance in stances(sentence):
                claims.append((_fit(sentence, season), name, Belief(stance, weight, bullet.id)))
    for line in experience.splitlines():
        reads = stances if line.startswith("alert:") else felt
        is_of_others = line.casefold().startswith(("sign", "playground:"))
        for sentence in () if is_of_others else _SENTENCE.split(line):
            fit = _fit(sentence, season) or 1
            claims += [(fit, name, Belief(stance)) for name, stance in reads(sentence)]
    claims.sort(key=lambda each: each[0])
    return {name: belief._replace(is_of_now=fit >= 0) for fit, name, belief in claims}


def _fit(text: str, season: int | None) -> int:
    """1 for what is said of this season, 0 for what is general, -1 for another season's."""
    seasons = _SEASON.search(text.casefold())
    if season is None:
        return 1
    return 0 if seasons is None else 1 if str(season) in seasons[1] else -1


_DAMAGE = -2
"""Hunger takes a point of life in a step, so that one point proves nothing."""

_NAME = re.compile(rf"\b({'|'.join((*KINDS, *CREATURES))})(?:s|es)?\b")
_SENTENCE = re.compile(r"[.;!?\n]")
_SEASON = re.compile(r"\bseasons? (\d(?:(?:, | and )\d)*)")
_CLAUSE = re.compile(r"(avoid|eat|drink|heal with) (\w+) in season (\d(?:, \d)*)", re.IGNORECASE)
_CHANGE = re.compile(r"\b(life|food|water) ([+-]\d+)")
_WORDS: Final[tuple[tuple[Stance, re.Pattern[str]], ...]] = (
    ("harmless", re.compile(r"\b(?:harmless|ignore)\b")),
    (Nature.DANGER, re.compile(r"\b(?:avoid|danger\w*|harm\w*|hurt\w*|keep away|hunts?|bites?)\b")),
    (Nature.FOOD, re.compile(r"\b(?:eat|food|energy)\b")),
    (Nature.WATER, re.compile(r"\b(?:drink|water)\b")),
    (Nature.REMEDY, re.compile(r"\b(?:heals?|remedy|cures?)\b")),
)


def felt(text: str) -> Iterator[tuple[str, Stance]]:
    """What 'used cone: food +24' or 'damage: torus: life -8' shows of the kinds that are named."""
    for name, sentence in _subjects(text):
        changes = {part: int(points) for part, points in _CHANGE.findall(sentence)}
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
