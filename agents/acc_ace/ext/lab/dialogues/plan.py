"""What a run over dialogues plays: contenders × dialogues × losses × budgets."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from pydantic import Field

from acc_ace.errors import InputError
from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Inquiry
from acc_ace.ext.lab.temptation.baselines import BUDGET
from acc_ace.ext.lab.temptation.contenders import contender
from acc_ace.ext.lab.temptation.run_folder import RunPlan

CONTENDERS = ("plain", "compaction", "filter", "window", "summary", "retrieval", "acc")


class DialoguePlan(RunPlan):
    """All that tells one run from another."""

    suite: str = Field(description="`decay`, or the name of a public set.")
    contenders: tuple[str, ...] = CONTENDERS
    losses: tuple[float, ...] = Field(default=(0.0,), description="Of the key-free memory.")
    budgets: tuple[int, ...] = Field(default=(BUDGET,), description="Tokens of history.")
    model: str = Field(default="", description="Answers the questions; a script without one.")
    memory: str = Field(default="", description="Keeps memories; the key-free engine without one.")
    seed: int = Field(default=0, ge=0)
    data: str = Field(default="", description="Digest of the dialogues.")


class DialogueTrial(NamedTuple):
    """One dialogue of a run."""

    dialogue: Dialogue
    loss: float
    budget: int

    @property
    def name(self) -> str:
        """Its id among those of a contender."""
        return f"{self.dialogue.name} loss={self.loss} budget={self.budget}"


def digest_of(dialogues: Sequence[Dialogue]) -> str:
    """The same for the same dialogues."""
    text = "\n".join(dialogue.model_dump_json() for dialogue in dialogues)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def checked_plan(plan: DialoguePlan, dialogues: Sequence[Dialogue]) -> DialoguePlan:
    """The plan, each value once. Raises InputError for what cannot be played."""
    for name in plan.contenders:
        contender(name)
        if plan.contenders.count(name) > 1:
            raise InputError(f"--contender: {name} is named twice")
    if wrong := [share for share in plan.losses if not 0 <= share <= 1]:
        raise InputError(f"--loss: {wrong[0]} is not between 0 and 1")
    if plan.memory and plan.losses != (0.0,):
        raise InputError("--loss: a model of your own keeps the memory; leave out one of them")
    if bad := [number for number in plan.budgets if not 64 <= number <= 100_000]:
        raise InputError(f"--budget: {bad[0]} is not between 64 and 100,000")
    once = {name: tuple(dict.fromkeys(getattr(plan, name))) for name in ("losses", "budgets")}
    return plan.model_copy(update={**once, "data": digest_of(dialogues)})


def dialogue_trials(plan: DialoguePlan, dialogues: Sequence[Dialogue]) -> Iterator[DialogueTrial]:
    """Those that each contender plays."""
    for dialogue, loss, budget in product(dialogues, plan.losses, plan.budgets):
        yield DialogueTrial(dialogue, loss, budget)


def only_kinds(dialogues: Sequence[Dialogue], kinds: Sequence[str]) -> list[Dialogue]:
    """The dialogues with questions of some kinds alone, and no dialogue without one.

    Raises InputError for a kind that no question has.
    """
    there = {step.kind for one in dialogues for step in one.steps if isinstance(step, Inquiry)}
    if unknown := [kind for kind in kinds if kind not in there]:
        raise InputError(f"--kind: {unknown[0]!r:.40} is none of {', '.join(sorted(there))}")
    narrowed = [
        one.model_copy(
            update={
                "steps": tuple(
                    step
                    for step in one.steps
                    if not isinstance(step, Inquiry) or not kinds or step.kind in kinds
                )
            }
        )
        for one in dialogues
    ]
    return [one for one in narrowed if any(isinstance(step, Inquiry) for step in one.steps)]
