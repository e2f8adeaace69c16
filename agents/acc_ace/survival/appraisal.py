"""Who says what to do about a kind of thing: a model that is shown the playbook, or its reader."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from acc_ace.errors import ModelUnavailable
from acc_ace.playbook.learning_plan import predict
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.interaction import GeneratorOutput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import Playbook
from acc_ace.survival.senses import Moment, Stance
from acc_ace.text.polarity import negated
from acc_ace.text.prompt import Prompt
from acc_ace.turn.structured_call import Completion

PATIENCE = 10
"""Questions, or lessons, in a row that a model may fail in before the survivor gives up on it."""

_WORDS = {
    Stance.AVOID: re.compile(r"\b(?:avoid|danger\w*|harm\w*|hurt\w*|keep away|shun)\b"),
    Stance.EAT: re.compile(r"\b(?:eat|food|energy)\b"),
    Stance.DRINK: re.compile(r"\b(?:drink|water)\b"),
    Stance.HEAL: re.compile(r"\b(?:heals?|remedy|cures?)\b"),
}


class Appraisal(NamedTuple):
    """What to do about a kind, the question as it was put, the answer, and what it cost."""

    stance: Stance
    question: str
    answer: GeneratorOutput
    calls: int = 0


class Appraiser(Protocol):
    """Decides about a kind of thing in sight."""

    async def appraise(self, kind: str, moment: Moment, playbook: Playbook) -> Appraisal:
        """What to do about things of the kind. Changes nothing."""
        ...


class PlaybookReader:
    """Follows the bullets that speak of a kind, and tries what none speaks of. Knows no more."""

    async def appraise(self, kind: str, moment: Moment, playbook: Playbook) -> Appraisal:
        """What the best proven bullet about the kind says; on a tie the newest."""
        reported = [
            (bullet.helpful - bullet.harmful, place, stance, bullet.id)
            for place, bullet in enumerate(playbook.bullets)
            if (stance := advice(bullet, kind)) is not None
        ]
        best = max(reported, default=None)
        stance, ids = (best[2], [best[3]]) if best else (Stance.TRY, [])
        answer = GeneratorOutput(final_answer=stance, bullet_ids=ids)
        return Appraisal(stance, question(kind, moment), answer)


class ModelAppraiser:
    """Asks the model of the Generator, whose prompt holds the playbook."""

    def __init__(self, completion: Completion, prompt: Prompt, limits: Limits) -> None:
        self._completion, self._prompt, self._limits = completion, prompt, limits
        self._failed = 0

    async def appraise(self, kind: str, moment: Moment, playbook: Playbook) -> Appraisal:
        """The model's answer; what it leaves unanswered is tried.

        At most `1 + limits.repairs` calls. Raises ModelUnavailable after PATIENCE failures in a
        row.
        """
        text = question(kind, moment)
        asked = await predict(
            text,
            playbook,
            completion=self._completion,
            prompt=self._prompt,
            limits=self._limits,
        )
        if asked.value is None:
            self._failed += 1
            if self._failed >= PATIENCE:
                raise ModelUnavailable(
                    f"{self._failed} questions in a row failed, the last one with: "
                    f"{'; '.join(asked.warnings[-1:])}"
                )
            return Appraisal(Stance.TRY, text, GeneratorOutput(final_answer=""), asked.use.calls)
        self._failed = 0
        return Appraisal(_chosen(asked.value.final_answer), text, asked.value, asked.use.calls)


def question(kind: str, moment: Moment) -> str:
    """The moment, and what is to be decided; the last line names the kind alone."""
    return (
        "You live in a world of things of several kinds. Touching one uses it up.\n"
        f"{moment.reported()}\n"
        "Decide about one kind: eat what gives energy, drink what gives water, heal by what gives "
        "health, avoid what takes health, try what you know nothing of.\n"
        f"Answer with one word of these options: {', '.join(Stance)}.\n"
        f"1. {kind}"
    )


def advice(bullet: Bullet, kind: str) -> Stance | None:
    """What a bullet says of a kind, or None. One that did more harm than good says nothing."""
    text = bullet.content.casefold()
    if bullet.harmful > bullet.helpful or not re.search(rf"\b{kind}(?:s|es)?\b", text):
        return None
    said = [stance for stance, words in _WORDS.items() if words.search(text)]
    if not said or said[0] is Stance.AVOID:
        return said[0] if said else None
    return Stance.AVOID if negated(text) else said[0]


def _chosen(answer: str) -> Stance:
    """The first option that an answer names."""
    words: Sequence[str] = re.findall(r"[a-z]+", answer.casefold())
    return next((Stance(word) for word in words if word in list(Stance)), Stance.TRY)
