"""The five stages of a turn and the pair are in the pipeline, in their order and by their names."""

import pytest

from acc_ace import build_container
from acc_ace.pipeline import build_pipeline
from acc_ace.turn.turn_record import TurnRecord, TurnStart
from config import ROLES, Settings
from schemas.base import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm

PAIRS = {
    "inline": {
        "reflector": ["reflector_", "tag_bullet"],
        "curator": ["curator_", "playbook_updater"],
    },
    "off": {},
}


KINDS = {"sequential": "SequentialAgent", "workflow": "WorkflowSequence"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learning", PAIRS)
async def test_the_pipeline_is_the_five_stages_and_the_pair(learning: str, kind: str) -> None:
    chosen = {"store": "memory", "learning": learning, "pipeline": kind}
    container = build_container(Settings.model_validate(chosen))
    root = build_pipeline(container, dict.fromkeys(ROLES, ScriptedLlm()))
    [pipeline] = root.sub_agents
    assert type(pipeline).__name__ == KINDS[kind]
    five, pair = pipeline.sub_agents[:5], pipeline.sub_agents[5:]
    assert [type(stage).__name__ for stage in five] == [
        "StateInitializer",
        "Recaller",
        "Qualifier",
        "Compressor",
        "Generator",
    ]
    named = {each.name: [stage.name for stage in each.sub_agents] for each in pair}
    assert named == PAIRS[learning]
    await container.close()


def test_a_step_without_what_it_needs_says_what_is_missing() -> None:
    record = TurnRecord(TurnStart(SessionKey("acc_ace", "user", "s1")))
    with pytest.raises(LookupError, match="'turn_input', which no earlier stage has provided"):
        _ = record.start.x_t
    with pytest.raises(LookupError, match="'entry', which no earlier stage has provided"):
        _ = record.state
    with pytest.raises(LookupError, match="'playbook', which no earlier stage has provided"):
        _ = record.lessons
