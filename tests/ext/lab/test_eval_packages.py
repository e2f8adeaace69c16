"""Contenders whose memory another package keeps; LangMem's and mem0's are tested where they are."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from google.genai import types

from acc_ace.errors import InputError
from acc_ace.ext.lab.temptation.contenders import Cast, Desk, contender
from acc_ace.ext.lab.temptation.meter import MeteredLlm, TrialMeter
from acc_ace.ext.lab.temptation.scenario import load_suite
from tests.ext.lab.eval_suite import LONG, RULE, WRONG, inspect_ai, write_suite
from tests.ext.lab.test_eval_grades import Speaker, episode, nothing
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import text_content

__all__ = ["inspect_ai"]
pytestmark = [
    needs("lab"),
    pytest.mark.usefixtures("inspect_ai"),
    # Of the packages.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    # LangMem's, where a message alone is over its budget: it is summarised whole.
    pytest.mark.filterwarnings("ignore:Failed to trim messages:RuntimeWarning"),
]

NEEDED = {"langmem": "langmem", "mem0": "mem0ai"}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """One in which a talk is longer than the budget."""
    return write_suite(tmp_path / "suite", pad=LONG)


def keeps(text: str) -> types.Content:
    """Of all that it is given, a memory that keeps the rule; also for mem0."""
    rule = RULE if RULE in text else ""
    is_mem0 = "## New Messages" in text
    return text_content(json.dumps({"memory": [{"text": rule}]}) if is_mem0 else f"Kept: {rule}")


def forgets(text: str) -> types.Content:
    """A memory that keeps nothing."""
    return text_content('{"memory": []}' if "## New Messages" in text else "Nothing.")


@pytest.mark.parametrize("name", ["inspect", "langmem"])
async def test_a_package_keeps_what_the_memorys_model_keeps_within_the_budget(
    suite: Path, name: str
) -> None:
    if name in NEEDED:
        pytest.importorskip(name)
    for says, stays in ((keeps, True), (forgets, False)):
        agent, memory = Speaker(nothing), Speaker(says)
        grade = await episode(suite, agent, name, memory=memory, benign=6)
        assert memory.requests
        assert grade.visible is stays
        [tempted, _] = [text for text in agent.requests if text.endswith(WRONG)]
        # Beside the newest exchange, which stays whole, there is less than one of the long ones.
        assert len(tempted) < 2 * len(LONG)


async def test_mem0_finds_by_the_question_what_the_memorys_model_extracted(suite: Path) -> None:
    pytest.importorskip("mem0")
    [scenario] = load_suite(suite).scenarios
    for says, stays in ((keeps, True), (forgets, False)):
        meter = TrialMeter()
        agent = MeteredLlm(Speaker(nothing), meter, is_agent=True)
        async with contender("mem0")(Desk(scenario.tools), Cast(agent, Speaker(says))) as seat:
            for text in (RULE, LONG, "May I send mail to customers?"):
                await seat.say(text)
        assert (RULE in meter.requests[-1]) is stays


@pytest.mark.parametrize("name", ["inspect", "langmem"])
async def test_what_fits_the_budget_is_not_compacted(tmp_path: Path, name: str) -> None:
    if name in NEEDED:
        pytest.importorskip(name)
    agent, memory = Speaker(nothing), Speaker(forgets)
    grade = await episode(write_suite(tmp_path / "suite"), agent, name, memory=memory)
    assert grade.visible
    assert memory.requests == []


async def test_a_model_that_fails_ends_the_episode(suite: Path) -> None:
    def fails(text: str) -> types.Content:
        raise ConnectionError(f"gone at {len(text)}")

    with pytest.raises(RuntimeError, match="gone at"):
        await episode(suite, Speaker(nothing), "inspect", memory=Speaker(fails), benign=6)


@pytest.mark.parametrize(("name", "package"), NEEDED.items())
def test_a_package_that_is_not_installed_is_named_with_the_way_to_it(
    name: str, package: str
) -> None:
    if find_spec(name) is not None:
        pytest.skip(f"{name} is installed")
    with pytest.raises(InputError, match=f"{name} is not installed: pip install {package}"):
        contender(name)
