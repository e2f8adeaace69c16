"""Run a plan on Inspect: a task for each contender, a sample for each episode.

Inspect keeps finished samples in the run's folder: a run that was killed, or in which episodes
failed, goes on with the others when it is started again.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

from google.adk.models.base_llm import BaseLlm
from inspect_ai import Task, eval_set
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from acc_ace.config import EMBEDDED_MODEL, Settings
from acc_ace.errors import SpendingCeilingError
from acc_ace.ext.lab.temptation.contenders import Cast, contender
from acc_ace.ext.lab.temptation.episode import Grade, play
from acc_ace.ext.lab.temptation.meter import TrialMeter
from acc_ace.ext.lab.temptation.plan import Trial, TrialPlan, episodes, read_plan
from acc_ace.ext.lab.temptation.scenario import Suite
from acc_ace.ext.lab.temptation.scripted_memory import ScriptedMemory
from acc_ace.ext.lab.temptation.students import DecisiveAgent, ScriptedAgent
from acc_ace.ext.lab.temptation.talk import Talk, talk
from acc_ace.models.factory import build_model, close_models

_OUTCOME: Final = "outcome"


class Unplayed(NamedTuple):
    """An episode without an outcome."""

    contender: str
    episode: str
    error: str


class Results(NamedTuple):
    """What a run has so far."""

    grades: list[Grade]
    failures: list[Unplayed]


class CostCeiling:
    """What a run may still spend, in dollars; None for no ceiling."""

    def __init__(self, most: float | None, before: Sequence[Grade] = ()) -> None:
        self._most = most
        self._spent = sum(grade.cost.nano_usd or 0 for grade in before) / 1e9

    def require(self) -> None:
        """Raises SpendingCeilingError when nothing is left."""
        if self._most is not None and self._spent >= self._most:
            raise SpendingCeilingError(
                f"--max-cost: ${self._spent:.2f} of ${self._most:.2f} are spent; "
                "give more, and the run goes on with the other episodes"
            )

    def pay(self, nano_usd: int | None) -> None:
        """Count an episode."""
        self._spent += (nano_usd or 0) / 1e9


def run(
    plan: TrialPlan, suite: Suite, folder: Path, *, parallel: int = 1, max_cost: float | None = None
) -> bool:
    """Play what is not finished yet; whether all is. What fails waits for the next start."""
    purse = CostCeiling(max_cost, read_results(folder).grades)
    # Inspect says what it did; the caller does so itself.
    with redirect_stdout(StringIO()), _root_logger_kept():
        return _inspected(plan, suite, folder, parallel, purse)


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


def _inspected(
    plan: TrialPlan, suite: Suite, folder: Path, parallel: int, purse: CostCeiling
) -> bool:
    done, _ = eval_set(
        [_task(plan, suite, name, purse) for name in plan.contenders],
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


def read_results(folder: Path) -> Results:
    """What the logs of a run's folder hold; of an episode that was played again, the newest."""
    outcomes, failures = dict[tuple[str, str], Grade](), dict[tuple[str, str], Unplayed]()
    logs = [read_eval_log(info) for info in list_eval_logs(str(folder / "logs"))]
    for log in sorted(logs, key=lambda each: each.eval.created):
        name = str((log.eval.metadata or {})["contender"])
        for sample in log.samples or []:
            key = (name, str(sample.id))
            scores = [score for score in (sample.scores or {}).values() if score.metadata]
            if scores and scores[0].metadata:
                outcomes[key] = Grade.model_validate(scores[0].metadata[_OUTCOME])
                failures.pop(key, None)
            elif sample.error and key not in outcomes:
                failures[key] = Unplayed(*key, sample.error.message)
    place = {name: number for number, name in enumerate(read_plan(folder).contenders)}
    every = sorted(outcomes.values(), key=lambda one: place.get(one.contender, len(place)))
    return Results(every, [*failures.values()])


def _task(plan: TrialPlan, suite: Suite, name: str, purse: CostCeiling) -> Task:
    trials = {episode.name: episode for episode in episodes(plan, suite, name)}
    samples = [Sample(id=each, input=trials[each].scenario.rule) for each in trials]
    return Task(
        dataset=MemoryDataset(samples),
        solver=_plays(plan, suite, name, trials, purse),
        scorer=_graded(),
        name="".join(sign if sign.isalnum() else "_" for sign in name),
        metadata={"contender": name},
    )


@solver
def _plays(
    plan: TrialPlan, suite: Suite, name: str, trials: dict[str, Trial], purse: CostCeiling
) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        purse.require()
        meter = TrialMeter()
        try:
            outcome = await _played(plan, suite, name, trials[str(state.sample_id)], meter)
        finally:
            purse.pay(meter.cost().nano_usd)
        state.metadata[_OUTCOME] = outcome.model_dump(mode="json")
        return state

    return solve


async def _played(
    plan: TrialPlan, suite: Suite, name: str, episode: Trial, meter: TrialMeter
) -> Grade:
    scenario, attack = episode.scenario, episode.attack
    turns = talk(scenario, suite.attacks, attack, benign=episode.benign, seed=plan.seed)
    async with AsyncExitStack() as stack:
        cast = _cast(plan, turns, name, episode, stack)
        return await play(
            name,
            contender(name),
            turns,
            cast,
            meter=meter,
            attack=attack,
            benign=episode.benign,
            temptation=0.0 if plan.model else episode.temptation,
        )


def _scripted(
    plan: TrialPlan, turns: Talk, name: str, episode: Trial
) -> tuple[ScriptedAgent, ScriptedMemory]:
    memory = ScriptedMemory(
        episode.scenario,
        build_model("compressor", Settings(compressor={"model": EMBEDDED_MODEL})),
        reads=plan.memory == "scripted",
        loss=plan.loss,
        seed=f"{plan.seed} {name} {episode.name}",
    )
    coin = f"{plan.seed} {episode.name}"
    return ScriptedAgent(turns, p=episode.temptation, coin=coin), memory


def real_models(name: str) -> list[BaseLlm]:
    """The agent's and the memory's. Raises ConfigError for a name that is no model."""
    settings = Settings(generator={"model": name}, compressor={"model": name})
    return [build_model(role, settings) for role in ("generator", "compressor")]


def _cast(plan: TrialPlan, turns: Talk, name: str, episode: Trial, stack: AsyncExitStack) -> Cast:
    script, keeper = _scripted(plan, turns, name, episode)
    if not plan.model:
        return Cast(script, keeper)
    models = real_models(plan.model)
    stack.push_async_callback(close_models, models)
    return Cast(DecisiveAgent(models[0], script), keeper) if plan.decisive else Cast(*models)


@scorer(metrics=[mean()])
def _graded() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        del target
        outcome = state.metadata[_OUTCOME]
        return Score(value=int(outcome["violated"]), metadata={_OUTCOME: outcome})

    return score
