"""What rules do at tools: shown with the rule, corrected by a person, and nowhere else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from google.adk.agents import LlmAgent

from acc_ace.errors import ForbiddenError, InputError, NotFoundError
from acc_ace.server.app import create_app
from acc_ace.turn.rule_service import MAX_CHECKS, RuleService
from config import ROLES, Settings
from schemas.base import SessionKey
from schemas.commit import RuleScope
from tests.ext.guard.test_guard import RULE, Till, consenting, desk, waiting
from tests.fakes.confirmed_tool import PAID
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk
from tests.server.asgi import client

STOPS = "I will stop `refund` when `amount` > 20 EUR."
TILL = "/v1/sessions/till"
REFUND = "tests.fakes.confirmed_tool:refund"


def paying(amount: float = 50) -> ScriptedLlm:
    return ScriptedLlm().on(
        "generator", "Noted.", call("refund", order="A1", amount=amount), "Done."
    )


async def test_the_answer_says_what_a_new_rule_does_at_the_tools() -> None:
    app = desk(ScriptedLlm().on("generator", "Noted.", "Good morning."), Till())
    await app.say(RULE)
    assert f"c-0001: {STOPS}" in app.reports[0].notes
    await app.say("Good morning.")
    assert app.reports[1].notes == []


async def test_nothing_is_said_where_no_call_is_guarded_or_no_tool_is_meant() -> None:
    app = desk(ScriptedLlm().on("generator", "Noted."), Till(), guard="off")
    await app.say(RULE)
    assert STOPS not in str(app.reports[0].notes)
    other = Desk(
        LlmAgent(name="ops", model=ScriptedLlm().on("generator", "Noted.")),
        Settings(store="memory", learning="off"),
        memory=consenting(),
    )
    await other.say(RULE)
    assert "I will" not in str(other.reports[0].notes)


@pytest.fixture
async def http(place: Place) -> AsyncIterator[httpx.AsyncClient]:
    """A server over each database with a tool that pays back."""
    async with served(place, REFUND) as opened:
        yield opened


@asynccontextmanager
async def served(place: Place, *tools: str) -> AsyncIterator[httpx.AsyncClient]:
    PAID.clear()
    settings = place.with_settings(learning="off", serve_web_interface=False, tools=tools)
    container = Place(settings, place.directory).open()
    llm = paying() if tools else ScriptedLlm()
    app = create_app(container, models=dict.fromkeys(ROLES, llm))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def make(http: httpx.AsyncClient, scope: str = "session") -> str:
    made = await http.post(f"{TILL}/rules", json={"text": RULE, "scope": scope})
    return str(made.json()["id"])


async def correct(
    http: httpx.AsyncClient, rule: str, does: str, tool: str = "refund"
) -> httpx.Response:
    path = f"{TILL}/rules/{rule}/checks/{quote(tool, safe='')}"
    return await http.put(path, json={"does": does})


async def shown(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    [rule] = (await http.get(f"{TILL}/rules")).json()["constraints"]
    checks: list[dict[str, Any]] = rule.get("checks", [])
    return checks


@pytest.mark.parametrize("scope", ["session", "user"])
async def test_checks_are_listed_corrected_and_brought_back(
    http: httpx.AsyncClient, scope: str
) -> None:
    rule = await make(http, scope)
    compiled = [{"tool": "refund", "text": STOPS, "does": ""}]
    assert await shown(http) == compiled
    changed = await correct(http, rule, "amount > 60 EUR")
    assert changed.status_code == 200, changed.text
    assert changed.json()["checks"] == await shown(http)
    [check] = await shown(http)
    assert check["does"] == "amount > 60 EUR"
    assert check["text"] == "I will stop `refund` when amount > 60 EUR, as you set it."
    assert (await http.post(f"{TILL}/undo")).status_code == 200
    assert await shown(http) == compiled
    await correct(http, rule, "off")
    assert (await correct(http, rule, "")).json()["checks"] == compiled


async def test_a_check_of_a_tool_that_no_longer_exists_is_said_and_ignored(
    http: httpx.AsyncClient,
) -> None:
    rule = await make(http)
    await correct(http, rule, "stop", tool="pay back")
    gone, compiled = await shown(http)
    assert gone["text"] == "Ignored while no tool `pay back` is declared: stop"
    assert compiled["text"] == STOPS


async def test_a_rule_and_its_checks_outlive_a_tool_that_is_taken_away_and_comes_back(
    place: Place,
) -> None:
    async with served(place, REFUND) as http:
        rule = await make(http)
        await correct(http, rule, "amount > 60 EUR")
        before = await shown(http)
    async with served(place) as http:
        [gone] = await shown(http)
        assert gone["text"] == "Ignored while no tool `refund` is declared: amount > 60 EUR"
        turn = await http.post(f"{TILL}/turns", json={"input": "Refund A1, 50 euros."})
        assert turn.status_code == 200, turn.text
        assert [each["text"] for each in turn.json()["constraints"]] == [RULE]
    async with served(place, REFUND) as http:
        assert await shown(http) == before
        assert (await correct(http, rule, "")).json()["checks"][0]["text"] == STOPS


async def test_a_check_that_says_nothing_is_refused_and_an_unknown_rule_is_named(
    http: httpx.AsyncClient,
) -> None:
    rule = await make(http)
    for wrong in ("maybe", "amount > lots", "amount 30", "> 3"):
        refused = await correct(http, rule, wrong)
        assert refused.status_code == 422, refused.text
        assert "no check of a tool" in refused.text
    assert (await correct(http, "c-0009", "off")).status_code == 404
    assert [each["text"] for each in await shown(http)] == [STOPS]


async def test_a_person_may_relax_a_check_and_free_words_may_not() -> None:
    till = Till()
    fifty, more = (call("refund", order="A1", amount=amount) for amount in (50, 61))
    app = desk(ScriptedLlm().on("generator", "Noted.", fifty, fifty, "Done.", more), till)
    await app.say(RULE)
    waiting(await app.say("Set the check of refund to amount > 60 EUR, and refund A1."))
    assert till.paid == []
    await RuleService(app.container).check(KEY, "c-0001", "refund", "amount > 60 EUR")
    assert await app.ask("Refund A1.") == "Done."
    assert till.paid == [50]
    waiting(await app.say("Refund A1."))
    assert till.paid == [50]


async def test_a_correction_is_lifted_with_its_rule_and_no_model_is_asked() -> None:
    till = Till()
    app = desk(paying(), till, judge=ScriptedLlm())
    await app.say(RULE)
    rules = RuleService(app.container)
    await rules.check(KEY, "c-0001", "refund", "off")
    assert await app.ask("Refund A1.") == "Done."
    assert till.paid == [50]
    await rules.forget(KEY, "c-0001")
    again = await rules.pin(KEY, RULE, RuleScope.SESSION)
    assert (again.id, again.checks) == ("c-0002", [])


async def test_corrections_are_bounded_and_not_of_a_rule_of_the_operator(place: Place) -> None:
    container = place.open()
    rules, key = RuleService(container), SessionKey("acc_ace", "user", "s")
    await rules.found(key, goal="Run the till.", rules=[RULE])
    with pytest.raises(ForbiddenError):
        await rules.check(key, "c-0001", "refund", "off")
    mine = await rules.pin(key, "Never pay twice.", RuleScope.SESSION)
    for number in range(MAX_CHECKS):
        await rules.check(key, mine.id, f"tool_{number}", "ask")
    with pytest.raises(InputError, match="at most"):
        await rules.check(key, mine.id, "one_more", "ask")
    with pytest.raises(NotFoundError):
        await rules.check(key, "c-0099", "refund", "off")
    await container.close()
