"""A pipeline whose stages stand in a wrong order fails when it is built."""

from itertools import pairwise
from typing import Any

import pytest

from acc_ace.adk.stages.acc_stages import Compressor, Qualifier, Recaller
from acc_ace.adk.stages.generator import Generator
from acc_ace.adk.stages.initializer import StateInitializer
from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.errors import ConfigError
from acc_ace.pipeline import build_pipeline
from acc_ace.turn.turn_record import check_order
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
