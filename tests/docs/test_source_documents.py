"""Names and first values that the source documents promise are there as they write them."""

import importlib

import pytest
from google.adk.tools.tool_context import ToolContext

import acc_ace
from acc_ace.config import AgentSettings, Settings
from acc_ace.core.schemas.base import Authority
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import call
from tests.pipeline.talk import Talk

config = importlib.import_module("config")
STATE = "app:playbook", "temp:user_query", "temp:ground_truth"
seen: list[dict[str, object]] = []


def look(tool_context: ToolContext) -> dict[str, str]:
    """Keep what a tool finds in the state of the first turn."""
    state = tool_context.state.to_dict()
    seen.append({key: state[key] for key in STATE})
    return {"done": "yes"}


async def test_the_first_turn_has_a_playbook_and_a_ground_truth_in_its_state() -> None:
    seen.clear()
    talk = Talk(Settings(store="memory", tools=(f"{__name__}:look",)))
    talk.llm.on("generator", call("look"), {"final_answer": "done"})
    await talk.say("Look around.")
    [state] = seen
    assert state["temp:ground_truth"] is None
    assert isinstance(state["app:playbook"], dict)
    assert state["app:playbook"]["bullets"] == []
    assert isinstance(state["temp:user_query"], dict)
    assert state["temp:user_query"]["text"] == "Look around."
    assert state["temp:user_query"]["authority"] == Authority.USER


@pytest.mark.parametrize("role", ["generator", "reflector", "curator"])
def test_config_names_the_model_of_each_agent(role: str) -> None:
    chosen = config.Config(**{role: AgentSettings(model="gemini-9-flash")})
    assert getattr(chosen, f"{role}_model") == "gemini-9-flash"
    assert isinstance(chosen, Settings)


@needs("embedded")
@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("schemas", ("CompressedCognitiveState",)),
        ("schemas.playbook", ("Bullet", "Playbook")),
        ("schemas.delta", ("DeltaOperation", "DeltaBatch")),
        ("acc_ace", ("root_agent",)),
    ],
)
def test_the_modules_of_the_documents_have_their_names(module: str, names: tuple[str, ...]) -> None:
    assert all(getattr(importlib.import_module(module), name) for name in names)


def test_a_playbook_has_every_operation_that_the_document_names() -> None:
    changes = {"add_bullet", "update_bullet", "remove_bullet", "update_bullet_tag", "apply_delta"}
    forms = {"to_dict", "from_dict", "dumps", "loads", "as_prompt", "stats"}
    assert changes | forms <= set(dir(acc_ace.Playbook))
