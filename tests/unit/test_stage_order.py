"""There is one list of steps, and a driver with another order fails when it is built."""

from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest

from acc_ace import AccController, Container, build_container
from acc_ace.adk.plugin.turn_memory import TurnMemory
from acc_ace.adk.stages.acc_stages import Compressor, Qualifier, Recaller
from acc_ace.adk.stages.generator import Generator
from acc_ace.adk.stages.initializer import StateInitializer
from acc_ace.errors import ConfigError
from acc_ace.pipeline import build_pipeline
from acc_ace.turn.algorithm import PREPARATION, STEPS, Turn, check_order
from config import ROLES, Settings
from tests.fakes.scripted_llm import ScriptedLlm

FIVE: list[Any] = [StateInitializer, Recaller, Qualifier, Compressor, Generator]


class Named:
    """A stage by what its class says."""

    def __init__(self, stage: Any) -> None:
        self.name: str = stage.__name__
        self.requires: frozenset[str] = stage.requires
        self.provides: frozenset[str] = stage.provides


async def test_the_pipeline_is_the_five_stages_and_the_pair() -> None:
    container = build_container(Settings(store="memory"))
    root = build_pipeline(container, dict.fromkeys(ROLES, ScriptedLlm()))
    [pipeline] = root.sub_agents
    names = [agent.name for agent in pipeline.sub_agents]
    assert names == [
        "state_initializer",
        "recaller",
        "qualifier",
        "compressor",
        "generator",
        "reflector",
        "curator",
    ]
    await container.close()


def test_the_order_of_the_five_is_sound() -> None:
    check_order([Named(stage) for stage in FIVE])


@pytest.mark.parametrize("at", range(len(list(pairwise(FIVE)))))
def test_two_stages_that_change_places_are_refused(at: int) -> None:
    stages = [Named(stage) for stage in FIVE]
    stages[at], stages[at + 1] = stages[at + 1], stages[at]
    with pytest.raises(ConfigError, match=f"stage '{FIVE[at + 1].__name__}' requires"):
        check_order(stages)


def test_steps_hand_on_what_the_context_of_a_turn_holds() -> None:
    values = {field.name for field in fields(Turn)}
    assert {name for step in STEPS for name in step.requires | step.provides} <= values


def test_the_stages_before_the_answer_are_the_steps_of_the_preparation() -> None:
    stages: list[Any] = [Recaller, Qualifier, Compressor]
    assert [stage.requires for stage in stages] == [step.requires for step in PREPARATION]
    assert [stage.provides for stage in stages] == [step.provides for step in PREPARATION]


DRIVERS: dict[str, Callable[[Container], object]] = {
    "pipeline": lambda container: build_pipeline(container, dict.fromkeys(ROLES, ScriptedLlm())),
    "plugin": lambda container: TurnMemory(container, dict.fromkeys(ROLES, ScriptedLlm())),
    "controller": lambda container: AccController(
        container, session="s", models=dict.fromkeys(ROLES, ScriptedLlm())
    ),
}


@pytest.mark.parametrize("driver", DRIVERS)
async def test_every_driver_checks_the_order_when_it_is_built(
    driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = build_container(Settings(store="memory"))
    DRIVERS[driver](container)
    wrong = (*reversed(PREPARATION), *STEPS[len(PREPARATION) :])
    monkeypatch.setattr("acc_ace.controller.STEPS", wrong)
    monkeypatch.setattr("acc_ace.adk.plugin.turn_memory.STEPS", wrong)
    monkeypatch.setattr(Recaller, "requires", Compressor.requires)
    with pytest.raises(ConfigError, match="requires qualification"):
        DRIVERS[driver](container)
    await container.close()
