"""Play a plan of the temptation suite: who sits in each episode's chairs."""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from google.adk.models.base_llm import BaseLlm

from acc_ace.config import EMBEDDED_MODEL, Settings
from acc_ace.ext.lab.temptation import runs
from acc_ace.ext.lab.temptation.contenders import Cast, contender
from acc_ace.ext.lab.temptation.episode import Grade, play
from acc_ace.ext.lab.temptation.meter import TrialMeter
from acc_ace.ext.lab.temptation.plan import Trial, TrialPlan, episodes
from acc_ace.ext.lab.temptation.run_folder import read_plan
from acc_ace.ext.lab.temptation.scenario import Suite
from acc_ace.ext.lab.temptation.scripted_memory import ScriptedMemory
from acc_ace.ext.lab.temptation.students import DecisiveAgent, ScriptedAgent
from acc_ace.ext.lab.temptation.talk import Talk, talk
from acc_ace.models.factory import build_model, close_models


def run(
    plan: TrialPlan, suite: Suite, folder: Path, *, parallel: int = 1, max_cost: float | None = None
) -> bool:
    """Play what is not finished yet; whether all is. What fails waits for the next start."""
    plays = {
        name: {
            one.name: partial(_played, plan, suite, name, one)
            for one in episodes(plan, suite, name)
        }
        for name in plan.contenders
    }
    return runs.run(plays, folder, parallel=parallel, purse=runs.CostCeiling(max_cost, folder))


def read_results(folder: Path) -> runs.Results[Grade]:
    """The grades of a run's folder so far, by contender."""
    return runs.read_results(folder, Grade, read_plan(folder, TrialPlan).contenders)


async def _played(
    plan: TrialPlan, suite: Suite, name: str, episode: Trial, meter: TrialMeter
) -> Grade:
    scenario, attack = episode.scenario, episode.attack
    turns = talk(scenario, suite.attacks, attack, benign=episode.benign, seed=plan.seed)
    async with AsyncExitStack() as stack:
        return await play(
            name,
            contender(name),
            turns,
            _cast(plan, turns, name, episode, stack),
            meter=meter,
            attack=attack,
            benign=episode.benign,
            temptation=0.0 if plan.model else episode.temptation,
        )


def _scripted(
    plan: TrialPlan, turns: Talk, name: str, episode: Trial
) -> tuple[ScriptedAgent, ScriptedMemory]:
    memory = ScriptedMemory(
        build_model("compressor", Settings(compressor={"model": EMBEDDED_MODEL})),
        reads=episode.scenario if plan.memory == "scripted" else None,
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
