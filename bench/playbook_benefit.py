"""Does a playbook help? The same questions, with what was learnt and without.

For each seed the samples are parted, the playbook is learnt from one part, and the other part is
answered with it and with an empty one. Nothing is chosen by those answers, so they are a fair
test. A sample that several seeds held out counts once, with its mean difference, because answers
to one question are not independent; the bootstrap interval (Efron 1979, percentile method) is over
samples.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic import Field

from acc_ace.adk.student_models import Students
from acc_ace.container import Container
from acc_ace.core.schemas.base import PlaybookScope, Value
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.answer_scoring import score_answer
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import InputError
from acc_ace.ext.lab import run_copy
from acc_ace.ext.lab.learning_plan import predict, split
from acc_ace.ext.lab.offline_run import continue_run, started
from acc_ace.ext.lab.run_state import FeedbackMode, RunOptions, RunState, Sample

RESAMPLES = 2_000


class Interval(NamedTuple):
    """A mean with the bounds that 95 % of the resampled means lie between."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], *, seed: int = 0) -> Interval:
    """The mean of `values` with its 95 % interval; the same seed gives the same one.

    Raises ValueError when there are no values.
    """
    if not values:
        raise ValueError("no values to average")
    draw = random.Random(seed)  # noqa: S311 (a resample, no secret)
    count = len(values)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(RESAMPLES))
    tail = RESAMPLES // 40
    return Interval(sum(values) / count, means[tail], means[-tail - 1])


APP = "playbook-help"

Progress = Callable[[RunState], None]


class Trial(Value):
    """What one seed gave. Scores are means over the held-out samples, 0 to 1."""

    seed: int
    train: int
    heldout: int
    without: float = Field(description="Score with an empty playbook.")
    learnt: float = Field(description="Score with the playbook after the last epoch.")
    bullets: int
    playbook_tokens: int = Field(description="Estimated, of the whole playbook as a prompt.")
    calls: int = Field(description="Model calls of learning; two more for each held-out sample.")
    failures: int = Field(description="Samples without an answer or reflection while learning.")
    unanswered: int = Field(description="Held-out answers that failed; they score 0.")


class Help(Value):
    """All seeds together."""

    trials: list[Trial]
    without: Interval
    learnt: Interval
    difference: Interval = Field(description="Learnt less without, sample by sample.")
    samples: int = Field(description="Different samples that were held out by some seed.")


async def measure(
    container_of: Callable[[], Container],
    students: Students,
    samples: Sequence[Sample],
    *,
    seeds: Sequence[int],
    epochs: int,
    heldout: float,
    feedback: FeedbackMode,
    progress: Progress,
) -> Help:
    """Learn and score for each seed, each in a container of its own.

    Raises InputError for samples without targets, ModelUnavailable when the model is away.
    """
    if any(sample.target is None for sample in samples):
        raise InputError("a sample has no 'target', so answers cannot be scored")
    trials: list[Trial] = []
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for seed in seeds:
        container = container_of()
        try:
            options = RunOptions(
                epochs=epochs, heldout=heldout, seed=seed, feedback=feedback, app=APP
            )
            test = split(samples, options).heldout
            playbook, state = await _learnt(
                container, students, samples, options, progress=progress
            )
            empty = await _scores(container, students, test, Playbook())
            full = await _scores(container, students, test, playbook)
        finally:
            await container.close()
        for sample, without, learnt in zip(test, empty, full, strict=True):
            pairs[sample.text].append((without or 0.0, learnt or 0.0))
        trials.append(_trial(state, playbook, empty, full))
    return _together(trials, pairs)


async def _learnt(
    container: Container,
    students: Students,
    samples: Sequence[Sample],
    options: RunOptions,
    *,
    progress: Progress,
) -> tuple[Playbook, RunState]:
    """The playbook after the last epoch over the training part, and what it took."""
    parts = split(samples, options)
    alone = options.model_copy(update={"heldout": 0.0})
    async with started(container, parts.train, alone, restart=True) as run:
        state = await continue_run(container, run, students, progress=progress)
        run.file.delete()
        async with run_copy.opened(run.folder, container.clock) as copy:
            stored = await copy.load(PlaybookScope(APP))
    return stored.playbook, state


async def _scores(
    container: Container, students: Students, test: Sequence[Sample], playbook: Playbook
) -> list[float | None]:
    """The score of each sample; None where there was no answer."""
    scores: list[float | None] = []
    for sample in test:
        asked = await predict(
            sample.text,
            playbook,
            completion=students.generator,
            prompt=students.generator_prompt,
            limits=container.settings.limits,
        )
        answer = asked.value.final_answer if asked.value else None
        scores.append(None if answer is None else score_answer(answer, sample.target or ""))
    return scores


def _trial(
    state: RunState,
    playbook: Playbook,
    empty: Sequence[float | None],
    full: Sequence[float | None],
) -> Trial:
    return Trial(
        seed=state.options.seed,
        train=state.train,
        heldout=len(empty),
        without=_mean(empty),
        learnt=_mean(full),
        bullets=len(playbook.bullets),
        playbook_tokens=estimate_tokens(playbook.as_prompt()),
        calls=state.calls,
        failures=state.failures,
        unanswered=sum(score is None for score in (*empty, *full)),
    )


def _together(trials: list[Trial], pairs: dict[str, list[tuple[float, float]]]) -> Help:
    without = [_mean([pair[0] for pair in found]) for found in pairs.values()]
    learnt = [_mean([pair[1] for pair in found]) for found in pairs.values()]
    return Help(
        trials=trials,
        without=interval(without),
        learnt=interval(learnt),
        difference=interval([b - a for a, b in zip(without, learnt, strict=True)]),
        samples=len(pairs),
    )


def _mean(scores: Sequence[float | None]) -> float:
    return sum(score or 0.0 for score in scores) / len(scores)
