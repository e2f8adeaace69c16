"""Learn from a touch as from any turn: reflect, tag, propose, curate, commit (ACE, section 3).

The reward of the tick, what was felt in words, and what would have been right in hindsight are
the feedback. Nothing is written into the playbook past curation.
"""

from dataclasses import dataclass

from acc_ace.clock import Clock
from acc_ace.errors import ModelUnavailable
from acc_ace.playbook.learning_plan import ALONE, question
from acc_ace.playbook.playbook_store import PlaybookStore
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import Playbook
from acc_ace.schemas.reflection import Judgement
from acc_ace.survival.appraisal import PATIENCE, Appraisal
from acc_ace.survival.senses import felt, hindsight
from acc_ace.survival.world import Touch
from acc_ace.turn.learning_step import Lesson, Roles, TurnOutcome, curation_context, learn


@dataclass
class Teacher:
    """Keeps the playbook of one survivor and counts what its learning took."""

    store: PlaybookStore
    scope: PlaybookScope
    roles: Roles
    limits: Limits
    clock: Clock
    max_rounds: int = 1
    calls: int = 0
    failures: int = 0
    failures_in_a_row: int = 0
    turn: int = 2

    async def playbook(self) -> Playbook:
        """The playbook as it is now. Raises StoreError."""
        return (await self.store.load(self.scope)).playbook

    async def teach(self, appraisal: Appraisal, touch: Touch, reward: float) -> None:
        """One learning cycle; one that a model failed in is counted.

        Raises ModelUnavailable after PATIENCE failures in a row, ConflictError and StoreError.
        """
        lesson = await self._learn(appraisal, touch, reward)
        self.calls += lesson.calls
        if lesson.reflected.value is not None and lesson.proposed.value is not None:
            self.failures_in_a_row = 0
            return
        self.failures += 1
        self.failures_in_a_row += 1
        if self.failures_in_a_row >= PATIENCE:
            raise ModelUnavailable(
                f"{PATIENCE} lessons in a row failed, the last one with: "
                f"{'; '.join(lesson.warnings[-1:])}"
            )

    async def _learn(self, appraisal: Appraisal, touch: Touch, reward: float) -> Lesson:
        right = hindsight(touch)
        outcome = TurnOutcome(
            turn_input=question(appraisal.question),
            state=ALONE.model_copy(update={"turn": self.turn}),
            generation=appraisal.answer,
            feedback=(Judgement(reward=reward, ground_truth=right, comment=felt(touch)),),
        )
        self.turn += 1
        return await learn(
            outcome,
            store=self.store,
            scope=self.scope,
            roles=self.roles,
            context=curation_context(
                outcome, self.limits, at=self.clock.now(), user="", session=self.scope.app
            ),
            max_rounds=self.max_rounds,
        )
