"""Learn from a data set: in several epochs (ACE, offline), sample by sample (online), or both.

A run learns into a copy of the playbook, which turns do not see. The held-out samples are answered
before the first epoch and after each one. The best version is promoted: what led to it is added to
the playbook. If none beats the starting version, or the playbook has changed meanwhile, nothing is.

The test set chooses nothing: the starting version answers it, and the best one once it is chosen.
An online pass answers each sample, scores it, and then learns from it; it promotes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from acc_ace.adk.student_models import Students
from acc_ace.clock import Clock
from acc_ace.core.playbook.playbook_store import IdempotentCommit, PlaybookStore
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.cost import PriceTable, Totals, Used
from acc_ace.core.schemas.delta import Author
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import Playbook, StoredPlaybook
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.text.answer_scoring import score_answer
from acc_ace.errors import ConflictError, InputError, ModelUnavailable
from acc_ace.ext.lab.learning_plan import ALONE, Split, best, chosen, order, predict
from acc_ace.ext.lab.run_copy import learnt
from acc_ace.ext.lab.run_state import (
    Bill,
    FeedbackMode,
    HeldoutScore,
    RunState,
    Sample,
    ScoreOf,
    Work,
)
from acc_ace.turn.learning_step import TurnOutcome, curation_context, learn

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
    prices: PriceTable
    save: Save
    max_rounds: int = 1

    async def run(self, state: RunState, parts: Split) -> RunState:
        """Continue from `state` to the end of the run.

        Model calls: for each training sample and epoch, and each sample of an online pass, at most
        `(1 + limits.repairs) * (2 + max_rounds)`; for each held-out sample at most
        `(1 + limits.repairs) * (1 + epochs)`, for each of the test set `(1 + limits.repairs) * 2`.
        Failures are counted. Raises ModelUnavailable after PATIENCE failures in a row, and
        StoreError; the run can then be resumed.
        """
        watch = _Watch(state, self.save)
        while not state.outcome:
            if state.scoring is not None:
                state = await self._score(state, state.scoring, parts, watch)
            elif (due := _due(state, parts)) is not None:
                state = await self._begin(state, due)
            elif state.epoch < state.options.epochs and parts.train:
                state = await self._epoch(state, parts.train, watch)
            else:
                state = await self._decide(state)
            self.save(state)
        return state

    async def _begin(self, state: RunState, of: ScoreOf) -> RunState:
        """Begin a score: of the version that was chosen, else of the newest one."""
        scope = _scope(state)
        stored = await self.copy.load(scope)
        winner = chosen(state.scores) if state.scores and of != "held-out" else None
        version, epoch = (winner or stored).version, winner.epoch if winner else state.epoch
        if of == "online" and version != stored.version:
            by, newest = Author("", self.clock.now()), stored.version
            stored = await self.copy.rollback(scope, version, expected_version=newest, by=by)
            version = stored.version
        return _with(state, scoring=HeldoutScore(of=of, epoch=epoch, version=version))

    async def _score(
        self, state: RunState, score: HeldoutScore, parts: Split, watch: "_Watch"
    ) -> RunState:
        """Answer what a score has left of its samples, and learn from each if it is online."""
        # Online not the newest one: that may know the sample, after a kill before its note.
        stored = await self.copy.load(_scope(state), version=score.version)
        for sample in (parts.heldout if score.of == "held-out" else parts.apart)[score.samples :]:
            if score.of == "online":
                state, grade = await self._study(state, sample, stored, score.samples)
                stored = await self.copy.load(_scope(state))
            else:
                state, answer = await self._answer(state, sample, stored.playbook, "scoring")
                grade = _graded(answer, sample)
            score = score.plus(grade, version=stored.version)
            state = _with(state, scoring=score)
            watch.note(state)
        if score.of == "held-out":
            return _with(state, scoring=None, scores=(*state.scores, score))
        return _with(state, scoring=None, tests=(*state.tests, score))

    async def _epoch(self, state: RunState, train: tuple[Sample, ...], watch: "_Watch") -> RunState:
        sequence = order(len(train), state.options, state.epoch)
        for position in range(state.position, len(sequence)):
            if position == 0:
                state = _with(state, score_sum=0.0, scored=0)
            stored = await self.copy.load(_scope(state))
            state, score = await self._study(state, train[sequence[position]], stored, position)
            if score is not None:
                state = _with(state, score_sum=state.score_sum + score, scored=state.scored + 1)
            state = _with(state, position=position + 1)
            watch.note(state)
        return _with(state, epoch=state.epoch + 1, position=0)

    async def _study(
        self, state: RunState, sample: Sample, stored: StoredPlaybook, position: int
    ) -> tuple[RunState, float | None]:
        """Answer a sample and learn from it, in one idempotent commit; its score."""
        state, answer = await self._answer(state, sample, stored.playbook, "practice")
        if answer is None:
            return state, None
        score = _graded(answer, sample)
        outcome = TurnOutcome(
            turn_input=TurnInput(text=sample.text),
            state=ALONE.model_copy(update={"turn": state.epoch * state.train + position + 1}),
            generation=answer,
            feedback=_feedback(state.options.feedback, sample.target, score),
            is_experience=True,
        )
        return await self._learn(state, outcome), score

    async def _learn(self, state: RunState, outcome: TurnOutcome) -> RunState:
        began = perf_counter()
        lesson = await learn(
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
        state = self._charged(state, "learning", lesson.used, began)
        return state if lesson.reflected.value else _failed(state, lesson.warnings)

    async def _answer(
        self, state: RunState, sample: Sample, playbook: Playbook, work: Work
    ) -> tuple[RunState, GeneratorOutput | None]:
        """The answer from a playbook; None when the model failed."""
        began = perf_counter()
        try:
            reply = await predict(
                sample.text,
                playbook,
                completion=self.students.generator,
                prompt=self.students.generator_prompt,
                limits=self.limits,
            )
        except InputError as error:
            return _failed(state, (str(error),)), None
        state = self._charged(state, work, {"generator": {reply.model: reply.use}}, began)
        return (state if reply.value else _failed(state, reply.warnings)), reply.value

    def _charged(self, state: RunState, work: Work, used: Used, began: float) -> RunState:
        uses = self.prices.priced(state.run, 0, used)
        use, seconds = sum((each.tokens for each in uses), TokenUse()), perf_counter() - began
        bill = Bill(use=use, totals=Totals.of(uses), seconds=seconds)
        bills = {**state.bills, work: state.bills.get(work, Bill()) + bill}
        calls, tokens = state.calls + use.calls, state.tokens + use.total
        return _with(state, calls=calls, tokens=tokens, bills=bills)

    async def _decide(self, state: RunState) -> RunState:
        """Publish the best version, or keep the current one. Raises StoreError."""
        stored = await self.copy.load(_scope(state))
        state = _with(state, digest=stored.digest)
        if state.options.online:
            return _with(state, outcome="online")
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
    """Saves the state after each sample, and stops after PATIENCE failures in a row."""

    def __init__(self, state: RunState, save: Save) -> None:
        self._save, self._last_good, self._failed = save, state, 0
        self._failures = state.failures

    def note(self, state: RunState) -> None:
        """Save the result of a sample. Raises ModelUnavailable after too many failures."""
        self._failed = self._failed + 1 if state.failures > self._failures else 0
        self._failures = state.failures
        if self._failed >= PATIENCE:
            # Nothing was learned from these samples: a resumed run repeats them.
            self._save(self._last_good)
            raise ModelUnavailable(
                f"{self._failed} samples in a row failed, the last one with: "
                f"{state.last_error}; the run can be resumed"
            )
        self._last_good = self._last_good if self._failed else state
        self._save(state)


def _due(state: RunState, parts: Split) -> ScoreOf | None:
    """The score that comes next, if one does."""
    online = state.options.online
    is_over = not parts.train or len(state.scores) > state.options.epochs
    tests = is_over if online else 1 + (is_over and chosen(state.scores).epoch > 0)
    if parts.apart and len(state.tests) < tests:
        return "online" if online else "test"
    return "held-out" if parts.train and len(state.scores) <= state.epoch else None


def _scope(state: RunState) -> PlaybookScope:
    return PlaybookScope(state.options.app)


def _feedback(mode: FeedbackMode, target: str | None, score: float | None) -> tuple[Judgement, ...]:
    """The feedback on the answer that the Reflector sees."""
    if mode == "none" or target is None or score is None:
        return ()
    if mode == "reward":
        return (Judgement(reward=2 * score - 1),)
    return (Judgement(ground_truth=target),)


def _graded(answer: GeneratorOutput | None, sample: Sample) -> float | None:
    if answer is None or sample.target is None:
        return None
    return score_answer(answer.final_answer, sample.target)


def _failed(state: RunState, warnings: tuple[str, ...]) -> RunState:
    error = warnings[-1] if warnings else "no usable reply"
    return _with(state, failures=state.failures + 1, last_error=error[:500])


def _with(state: RunState, **changes: object) -> RunState:
    return state.model_copy(update=changes)
