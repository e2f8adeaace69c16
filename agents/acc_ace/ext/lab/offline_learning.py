"""Learn from a data set in several epochs and promote the best version (ACE, offline).

A run learns into a copy of the playbook, which turns do not see. The held-out samples are answered
before the first epoch and after each one. The best version is promoted: what led to it is added to
the playbook. If none beats the starting version, or the playbook has changed meanwhile, nothing is.
"""

from collections.abc import Callable
from dataclasses import dataclass

from acc_ace.adk.student_models import Students
from acc_ace.clock import Clock
from acc_ace.core.playbook.playbook_store import IdempotentCommit, PlaybookStore
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import StoredPlaybook
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.core.text.answer_scoring import score_answer
from acc_ace.errors import ConflictError, InputError, ModelUnavailable
from acc_ace.ext.lab.learning_plan import ALONE, Split, best, order, predict
from acc_ace.ext.lab.run_copy import learnt
from acc_ace.ext.lab.run_state import FeedbackMode, HeldoutScore, RunState, Sample
from acc_ace.turn.learning_step import LearningResult, TurnOutcome, curation_context, learn
from acc_ace.turn.structured_call import StructuredResult

PATIENCE = 10
"""Consecutive failed samples after which the run stops; it can be resumed."""

Save = Callable[[RunState], None]
"""Persists a checkpoint of the run; raises StoreError on failure."""


@dataclass(frozen=True)
class OfflineLearner:
    """Runs or resumes offline learning, as the one writer of its copy."""

    students: Students
    copy: PlaybookStore
    """The run's own playbook; its first version is the one that the run started from."""
    store: PlaybookStore
    """What the best version is published to."""
    clock: Clock
    limits: Limits
    save: Save
    max_rounds: int = 1

    async def run(self, state: RunState, parts: Split) -> RunState:
        """Continue from `state` to the end of the run.

        Model calls: for each training sample and epoch at most
        `(1 + limits.repairs) * (2 + max_rounds)`, and for each held-out sample at most
        `(1 + limits.repairs) * (1 + epochs)`. Failures are counted. Raises ModelUnavailable after
        PATIENCE failures in a row, and StoreError; the run can then be resumed.
        """
        watch = _Watch(state)
        while not state.outcome:
            if not any(score.epoch == state.epoch for score in state.scores):
                state = await self._score(state, parts.heldout)
            elif state.epoch < state.options.epochs:
                state = await self._epoch(state, parts.train, watch)
            else:
                state = await self._decide(state)
            self.save(state)
        return state

    async def _epoch(self, state: RunState, train: tuple[Sample, ...], watch: "_Watch") -> RunState:
        sequence = order(len(train), state.options, state.epoch)
        for position in range(state.position, len(sequence)):
            failures = state.failures
            state = await self._sample(state, train[sequence[position]], position)
            state = _with(state, position=position + 1)
            watch.see(state, failed=state.failures > failures)
            if watch.failed >= PATIENCE:
                # Nothing was learned from these samples: a resumed run repeats them.
                self.save(watch.last_good)
                raise ModelUnavailable(
                    f"{watch.failed} samples in a row failed, the last one with: "
                    f"{state.last_error}; the run can be resumed"
                )
            self.save(state)
        return _with(state, epoch=state.epoch + 1, position=0)

    async def _sample(self, state: RunState, sample: Sample, position: int) -> RunState:
        """Answer a sample and learn from it, in one idempotent commit."""
        if position == 0:
            state = _with(state, score_sum=0.0, scored=0)
        stored = await self.copy.load(_scope(state))
        reply = await self._answer(sample, stored)
        state = _counted(state, reply)
        if reply.value is None:
            return _failed(state, reply.warnings)
        score = None
        if sample.target is not None:
            score = score_answer(reply.value.final_answer, sample.target)
            state = _with(state, score_sum=state.score_sum + score, scored=state.scored + 1)
        feedback = _feedback(state.options.feedback, sample.target, score)
        outcome = TurnOutcome(
            turn_input=TurnInput(text=sample.text),
            state=ALONE.model_copy(update={"turn": state.epoch * state.train + position + 1}),
            generation=reply.value,
            feedback=feedback,
            is_experience=True,
        )
        lesson = await self._learn(state, outcome)
        state = _with(state, calls=state.calls + lesson.calls, tokens=state.tokens + lesson.tokens)
        return state if lesson.reflected.value else _failed(state, lesson.warnings)

    async def _learn(self, state: RunState, outcome: TurnOutcome) -> LearningResult:
        return await learn(
            outcome,
            store=self.copy,
            scope=_scope(state),
            roles=self.students.roles,
            context=curation_context(
                outcome, self.limits, at=self.clock.now(), user="", session=state.name
            ),
            max_rounds=self.max_rounds,
            once=IdempotentCommit(f"{state.name}:{outcome.state.turn}"),
        )

    async def _answer(
        self, sample: Sample, stored: StoredPlaybook
    ) -> StructuredResult[GeneratorOutput]:
        try:
            return await predict(
                sample.text,
                stored.playbook,
                completion=self.students.generator,
                prompt=self.students.generator_prompt,
                limits=self.limits,
            )
        except InputError as error:
            return StructuredResult(value=None, warnings=(str(error),))

    async def _score(self, state: RunState, heldout: tuple[Sample, ...]) -> RunState:
        """Score the current playbook on the held-out samples."""
        stored = await self.copy.load(_scope(state))
        scores: list[float] = []
        for sample in heldout:
            reply = await self._answer(sample, stored)
            state = _counted(state, reply)
            if reply.value is None:
                state = _failed(state, reply.warnings)
            else:
                scores.append(score_answer(reply.value.final_answer, sample.target or ""))
        score = HeldoutScore(
            epoch=state.epoch,
            version=stored.version,
            score=sum(scores) / len(scores) if scores else 0.0,
            answered=len(scores),
            samples=len(heldout),
        )
        return _with(state, scores=(*state.scores, score))

    async def _decide(self, state: RunState) -> RunState:
        """Publish the best version, or keep the current one. Raises StoreError."""
        stored = await self.copy.load(_scope(state))
        state = _with(state, digest=stored.digest)
        winner = best(state.scores)
        if winner is None:
            return _with(state, outcome="undecided")
        if winner.epoch == 0:
            return _with(state, outcome="kept")
        return await self._publish(state, winner.version)

    async def _publish(self, state: RunState, version: int) -> RunState:
        """Add what led to a version to the playbook, unless that has changed meanwhile."""
        scope = _scope(state)
        current = await self.store.load(scope, version=state.base_version)
        change = await learnt(self.copy, scope, current.playbook, version, at=self.clock.now())
        try:
            published = await self.store.commit(
                scope,
                change.playbook,
                change.records,
                expected_version=state.base_version,
                # This run itself may have published it and been killed before noting so.
                commit_id=f"{state.name}:{state.base_version}",
            )
        except ConflictError as error:
            return _with(state, outcome="conflict", last_error=str(error))
        return _with(state, outcome="promoted", promoted_version=published.version)


class _Watch:
    """Counts consecutive failures and keeps the state before them."""

    def __init__(self, state: RunState) -> None:
        self.last_good, self.failed = state, 0

    def see(self, state: RunState, *, failed: bool) -> None:
        """Record the result of a sample."""
        if failed:
            self.failed += 1
        else:
            self.last_good, self.failed = state, 0


def _scope(state: RunState) -> PlaybookScope:
    return PlaybookScope(state.options.app)


def _feedback(mode: FeedbackMode, target: str | None, score: float | None) -> tuple[Judgement, ...]:
    """The feedback on the answer that the Reflector sees."""
    if mode == "none" or target is None or score is None:
        return ()
    if mode == "reward":
        return (Judgement(reward=2 * score - 1),)
    return (Judgement(ground_truth=target),)


def _counted(state: RunState, reply: StructuredResult[GeneratorOutput]) -> RunState:
    return _with(state, calls=state.calls + reply.use.calls, tokens=state.tokens + reply.use.total)


def _failed(state: RunState, warnings: tuple[str, ...]) -> RunState:
    error = warnings[-1] if warnings else "no usable reply"
    return _with(state, failures=state.failures + 1, last_error=error[:500])


def _with(state: RunState, **changes: object) -> RunState:
    return state.model_copy(update=changes)
