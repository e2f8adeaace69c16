"""What a run plays: contenders × scenarios × attacks × lengths × temptations."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, Literal, NamedTuple, get_args

from pydantic import Field

from acc_ace.errors import InputError
from acc_ace.ext.lab.temptation.contenders import CONTENDERS, contender, has_playbook
from acc_ace.ext.lab.temptation.run_folder import RunPlan
from acc_ace.ext.lab.temptation.scenario import AttackKind, Language, Scenario, Suite

ATTACKS: Final[tuple[AttackKind, ...]] = get_args(AttackKind)

Memory = Literal["scripted", "embedded"]
"""Who keeps memories in a run with a scripted agent: see `scripted_memory`."""


class TrialPlan(RunPlan):
    """All that tells one run from another."""

    contenders: tuple[str, ...] = tuple(CONTENDERS)
    attacks: tuple[AttackKind, ...] = ATTACKS
    benign: tuple[int, ...] = Field(default=(10, 50), description="Benign turns after the rule.")
    temptation: tuple[float, ...] = Field(default=(0.5,), description="Of the scripted agent.")
    loss: float = Field(default=0.1, ge=0, le=1, description="Of the scripted memory.")
    memory: Memory = "scripted"
    model: str = Field(default="", description="A real model in place of the scripted ones.")
    decisive: bool = Field(
        default=False, description="The model plays the turn that tempts, scripts all others."
    )
    languages: tuple[Language, ...] = ("en", "ja")
    per_domain: int = Field(default=0, ge=0, description="Scenarios of a domain; 0 = all.")
    seed: int = Field(default=0, ge=0)
    suite: str = Field(default="", description="Digest of scenarios and attacks.")


class Trial(NamedTuple):
    """One conversation of a run."""

    scenario: Scenario
    attack: AttackKind
    benign: int
    temptation: float

    @property
    def name(self) -> str:
        """Its id among those of a contender."""
        return f"{self.scenario.name} {self.attack} n={self.benign} p={self.temptation}"


def digest(suite: Suite) -> str:
    """The same for the same scenarios and attacks."""
    return hashlib.sha256(suite.model_dump_json().encode()).hexdigest()[:16]


def attacks_of(suite: Suite, languages: Sequence[Language]) -> list[AttackKind]:
    """Those that a suite has a text for, in each language of its scenarios."""
    texts = {(attack.kind, attack.language) for attack in suite.attacks}
    spoken = {scenario.language for scenario in suite.scenarios} & {*languages}
    own: tuple[AttackKind, ...] = ("none", "loosening")
    return [kind for kind in ATTACKS if kind in own or all((kind, it) in texts for it in spoken)]


def checked(plan: TrialPlan, suite: Suite) -> TrialPlan:
    """The plan, each value once. Raises InputError for what cannot be played."""
    for name in plan.contenders:
        contender(name)
        if plan.contenders.count(name) > 1:
            raise InputError(f"--contender: {name} is named twice")
    if plan.decisive and not plan.model:
        raise InputError("--decisive: name the model that plays the turn, with --model")
    if bad := [number for number in plan.benign if not 0 <= number <= 1_000]:
        raise InputError(f"--turns: {bad[0]} is not between 0 and 1,000")
    if wrong := [share for share in plan.temptation if not 0 <= share <= 1]:
        raise InputError(f"--temptation: {wrong[0]} is not between 0 and 1")
    if absent := [kind for kind in plan.attacks if kind not in attacks_of(suite, plan.languages)]:
        raise InputError(f"--attack: the scenarios have no text for {absent[0]}")
    once = {
        name: tuple(dict.fromkeys(getattr(plan, name)))
        for name in ("attacks", "benign", "languages")
    }
    once["temptation"] = (0.0,) if plan.model else tuple(dict.fromkeys(plan.temptation))
    plan = plan.model_copy(update=once)
    playing = [name for name in plan.contenders if any(True for _ in episodes(plan, suite, name))]
    if not playing:
        raise InputError("--language, --attack: nothing to play; `lesson` needs acc+ace")
    return plan.model_copy(update={"contenders": (*playing,)})


def episodes(plan: TrialPlan, suite: Suite, name: str) -> Iterator[Trial]:
    """Those that a contender plays; a lesson is slipped only to one with a playbook."""
    counts: dict[tuple[str, str], int] = {}
    for scenario in suite.scenarios:
        key = (scenario.domain, scenario.language)
        counts[key] = counts.get(key, 0) + 1
        if scenario.language not in plan.languages or 0 < plan.per_domain < counts[key]:
            continue
        for attack, benign, share in product(plan.attacks, plan.benign, plan.temptation):
            if attack != "lesson" or has_playbook(name):
                yield Trial(scenario, attack, benign, share)
