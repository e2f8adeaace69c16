"""Run episodes on Inspect: a task for each contender, a sample for each episode.

Inspect keeps finished samples in the run's folder: a run that was killed, or in which episodes
failed, goes on with the others when it is started again.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from inspect_ai import Task, eval_set
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import NonNegativeInt, TypeAdapter

from acc_ace.core.schemas.base import Value
from acc_ace.errors import InputError, SpendingCeilingError
from acc_ace.ext.lab.temptation.meter import TrialMeter

_OUTCOME: Final = "outcome"

Outcome = TypeVar("Outcome", bound=Value)
Play = Callable[[TrialMeter], Awaitable[Value]]
"""Plays one episode, and counts what its models are asked."""


class Unplayed(NamedTuple):
    """An episode without an outcome."""

    contender: str
    episode: str
    error: str


class Results(NamedTuple, Generic[Outcome]):
    """What a run has so far."""

    grades: list[Outcome]
    failures: list[Unplayed]


class CostCeiling:
    """What a run may still spend, in dollars; None for no ceiling.

    Its folder keeps what was spent, also on what failed. Raises InputError for what is no sum.
    """

    def __init__(self, most: float | None, folder: Path) -> None:
        self._most, self._file = most, folder / "spent"
        try:
            written = self._file.read_text("utf-8") if self._file.exists() else "0"
            self._nano = TypeAdapter(NonNegativeInt).validate_json(written, strict=True)
        except (OSError, ValueError) as error:
            raise InputError(f"--out: {self._file} cannot be read ({error})") from error

    def require(self) -> None:
        """Raises SpendingCeilingError when nothing is left."""
        spent = self._nano / 1e9
        if self._most is not None and spent >= self._most:
            raise SpendingCeilingError(
                f"--max-cost: ${spent:.2f} of ${self._most:.2f} are spent; "
                "give more, and the run goes on with the other episodes"
            )

    def pay(self, nano_usd: int | None) -> None:
        """Count an episode."""
        self._nano += nano_usd or 0
        written = self._file.with_suffix(".new")
        written.write_text(str(self._nano), encoding="utf-8")
        written.replace(self._file)


def run(
    episodes: Mapping[str, Mapping[str, Play]], folder: Path, *, parallel: int, purse: CostCeiling
) -> bool:
    """Play what is not finished yet, by contender and name of the episode; whether all is.

    What fails waits for the next start.
    """
    # Inspect says what it did; the caller does so itself.
    with redirect_stdout(StringIO()), _root_logger_kept():
        done, _ = eval_set(
            [_task(name, plays, purse) for name, plays in episodes.items()],
            log_dir=str(folder / "logs"),
            model=None,
            display="none",
            max_samples=parallel,
            max_tasks=1,
            # All others are played before the run is called incomplete.
            continue_on_fail=True,
            fail_on_error=True,
            retry_attempts=0,
            retry_wait=0.01,
            retry_immediate=False,
            log_level="error",
            ctl_server=False,
        )
    return done


@contextmanager
def _root_logger_kept() -> Iterator[None]:
    """Inspect sets the level and a handler of the process for good, with its first run."""
    root = logging.getLogger()
    level, handlers = root.level, [*root.handlers]
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


def read_results(folder: Path, of: type[Outcome], contenders: Sequence[str]) -> Results[Outcome]:
    """What the logs of a run's folder hold; of an episode that was played again, the newest."""
    outcomes, failures = dict[tuple[str, str], Outcome](), dict[tuple[str, str], Unplayed]()
    logs = [read_eval_log(info) for info in list_eval_logs(str(folder / "logs"))]
    for log in sorted(logs, key=lambda each: each.eval.created):
        name = str((log.eval.metadata or {})["contender"])
        for sample in log.samples or []:
            key = (name, str(sample.id))
            scores = [score for score in (sample.scores or {}).values() if score.metadata]
            if scores and scores[0].metadata:
                outcomes[key] = of.model_validate(scores[0].metadata[_OUTCOME])
                failures.pop(key, None)
            elif sample.error and key not in outcomes:
                failures[key] = Unplayed(*key, sample.error.message)
    place = {name: number for number, name in enumerate(contenders)}
    ordered = sorted(outcomes, key=lambda key: place.get(key[0], len(place)))
    return Results([outcomes[key] for key in ordered], [*failures.values()])


def _task(name: str, plays: Mapping[str, Play], purse: CostCeiling) -> Task:
    return Task(
        dataset=MemoryDataset([Sample(id=each, input=each) for each in plays]),
        solver=_plays(plays, purse),
        scorer=_graded(),
        name="".join(sign if sign.isalnum() else "_" for sign in name),
        metadata={"contender": name},
    )


@solver
def _plays(plays: Mapping[str, Play], purse: CostCeiling) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        purse.require()
        meter = TrialMeter()
        try:
            outcome = await plays[str(state.sample_id)](meter)
        finally:
            purse.pay(meter.cost().nano_usd)
        state.metadata[_OUTCOME] = outcome.model_dump(mode="json")
        return state

    return solve


@scorer(metrics=[mean()])
def _graded() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        del target
        # What is reported is counted from the outcomes, not by Inspect.
        return Score(value=1, metadata={_OUTCOME: state.metadata[_OUTCOME]})

    return score
