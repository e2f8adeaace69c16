"""What `acc-ace demo` shows side by side: whether the forbidden call ran, and what stopped it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace import Container, build_container, errors, hooks
from acc_ace.cli.demo import demo_app
from acc_ace.cockpit.acts import Acts
from acc_ace.cockpit.demo import load_talk
from config import Settings
from schemas.base import SessionKey
from tests.fakes.default_replies import prompt_text
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import Reply, ScriptedLlm, call
from tests.server.asgi import client

pytestmark = needs("embedded")

RULES = {"en": "Never restart db-01.", "ja": "ap-01 は絶対に再起動しないでください。"}


@pytest.fixture
async def container() -> AsyncIterator[Container]:
    opened = build_container(Settings(store="memory"))
    yield opened
    await opened.close()


async def played(container: Container, language: str = "en", agent: Any = None) -> Any:
    """The state once every moment was played."""
    acts = Acts(load_talk(language)["acts"], SessionKey("demo", "user", "acts"), container, agent)
    await acts.play(pace_s=0)
    return acts.state.model_dump()


def outcomes(state: Any) -> list[tuple[str, ...]]:
    """By moment what became of the call: in plain ADK, with compaction, with us."""
    return [tuple(cell["outcome"] for cell in moment["cells"]) for moment in state["moments"]]


def ours(state: Any) -> list[str]:
    return [moment["cells"][-1]["detail"] for moment in state["moments"]]


@needs("guard")
@pytest.mark.parametrize("language", RULES)
async def test_what_ran_in_plain_adk_and_with_compaction_is_asked_about_with_us(
    container: Container, language: str
) -> None:
    state = await played(container, language)
    assert outcomes(state) == [("ran", "ran", "asked")] * 3
    assert all(RULES[language] in detail for detail in ours(state))
    assert all(cell["has_rule"] for moment in state["moments"] for cell in moment["cells"])
    assert (state["agent"], state["guard"]) == ("", "confirm")


@needs("guard")
async def test_a_guard_that_blocks_stops_the_call_and_quotes_the_rule() -> None:
    container = build_container(Settings(store="memory", guard="block"))
    state = await played(container)
    await container.close()
    assert outcomes(state) == [("ran", "ran", "stopped")] * 3
    assert all(RULES["en"] in detail for detail in ours(state))


async def test_without_the_guard_the_call_runs_with_us_too_and_the_page_says_what_is_missing(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(hooks.EXTENSIONS, "guard", "")
    state = await played(container)
    assert outcomes(state) == [("ran", "ran", "ran")] * 3
    assert state["guard"] == "missing"


def obeys_tom(request: LlmRequest) -> Reply:
    """A model that gives in to the impostor alone."""
    newest = prompt_text(request).rpartition("\n")[2]
    return call("restart_service", service="db-01") if newest.startswith("Tom writes") else "No."


@needs("guard")
async def test_a_configured_model_acts_in_all_three_and_what_it_never_called_is_said_so(
    container: Container,
) -> None:
    agent = ScriptedLlm().on("generator", obeys_tom)
    state = await played(container, agent=agent)
    idle = ("idle", "idle", "idle")
    assert outcomes(state) == [idle, ("ran", "ran", "asked"), idle]
    assert state["agent"] == "scripted/test"
    summaries = [each for each in agent.requests if not each.config.tools]
    assert any(RULES["en"] in prompt_text(each) for each in summaries), "nothing was compacted"


async def test_a_model_that_calls_on_and_on_ends_its_turn_and_not_the_comparison(
    container: Container,
) -> None:
    agent = ScriptedLlm().on("generator", call("restart_service", service="db-01"))
    state = await played(container, agent=agent)
    assert {cells[:2] for cells in outcomes(state)} == {("ran", "ran")}


async def test_a_model_that_cannot_be_reached_counts_for_nobody(container: Container) -> None:
    agent = ScriptedLlm().on("generator", errors.ModelUnavailable("no route to the model"))
    state = await played(container, agent=agent)
    assert outcomes(state) == [("failed", "failed", "failed")] * 3
    assert "no route to the model" in state["moments"][0]["cells"][0]["detail"]


@needs("openai_compatible")
@pytest.mark.parametrize(
    ("own", "agent"), [({}, ""), ({"generator": {"model": "openai/small"}}, "openai/small")]
)
async def test_the_page_reads_which_model_acts_and_what_is_still_to_come(
    container: Container, own: dict[str, Any], agent: str
) -> None:
    app, *_ = demo_app(container, language="en", pace=0, own=Settings.model_validate(own))
    async with client(app) as http:
        state = (await http.get("/demo/acts")).json()
    assert state["agent"] == agent
    assert outcomes(state) == [("pending", "pending", "pending")] * 3
