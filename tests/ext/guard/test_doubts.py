"""What may be a rule and is not kept, and what waits for consent: acts that they speak of ask."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent

from config import GuardMode, Settings
from schemas.interaction import GuardVerdict
from tests.ext.guard.test_guard import Till, decisions, waiting
from tests.fakes.default_replies import prompt_text, said_in
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import Desk, result_of

SAID = "Order A1 must not be refunded without my approval."
MAY = "You may refund up to 50 euros without asking me."


def desk(
    till: Till,
    *replies: Any,
    change: tuple[str, str] = ("", ""),
    mode: GuardMode,
    verdict: Any = None,
) -> Desk:
    """A desk whose compressor proposes one change where its words are said."""
    kind, quote = change

    def compress(request: Any) -> dict[str, Any]:
        is_said = quote and quote in said_in(prompt_text(request))
        return {"rule_changes": [{"kind": kind, "quote": quote}] if is_said else []}

    agent = LlmAgent(name="ops", model=ScriptedLlm().on("generator", *replies), tools=[till.refund])
    settings = Settings(store="memory", learning="off")
    memory = ScriptedLlm().on("compressor", compress)
    judge = ScriptedLlm() if verdict is None else ScriptedLlm().on("ActVerdict", verdict)
    return Desk(agent, settings, memory=memory, guard=mode, judge=judge)


def pay(order: str = "A1") -> Any:
    return call("refund", order=order, amount=30)


async def test_an_act_that_an_unkept_sentence_of_the_turn_speaks_of_asks() -> None:
    till = Till()
    app = desk(till, pay(), "Done.", pay(), "Done.", mode="confirm")
    asked = waiting(await app.say(SAID))
    assert await app.constraints() == []
    assert "Not taken as a standing rule" in str(await app.evidence())
    assert f'Your unkept sentence says: "{SAID}"' in str(asked.args)
    assert till.paid == []
    assert "Done." in await app.ask(result_of(asked, {"confirmed": True}))
    assert till.paid == [30]
    assert [each.verdict for each in await decisions(app)] == [GuardVerdict.CONFIRMED]
    # It was told, and is no rule: in a later turn nothing is asked.
    assert await app.ask("Once more, please.") == "Done."
    assert till.paid == [30, 30]


ORDER = "注文A1の返金を早く通しておくようにしてください。"
BAN = "A1の返金は慎んでください。"


@pytest.mark.parametrize(("said", "breaks", "paid"), [(ORDER, False, [30]), (BAN, True, [])])
async def test_what_no_check_of_an_unkept_sentence_decides_is_judged(
    said: str, breaks: bool, paid: list[int]
) -> None:
    till = Till()
    verdict = {"conflict": breaks, "rule_id": "said-0"}
    app = desk(till, pay(), "Done.", mode="block", verdict=verdict)
    await app.say(said)
    assert await app.constraints() == []
    assert till.paid == paid


@pytest.mark.parametrize("said", [ORDER, BAN])
async def test_what_the_judge_is_unsure_of_does_not_run_unasked(said: str) -> None:
    till = Till()
    app = desk(till, pay(), "Done.", mode="block", verdict={"why": "It does not show."})
    await app.say(said)
    assert till.paid == []


async def test_an_act_that_it_does_not_speak_of_runs() -> None:
    till = Till()
    app = desk(till, pay("B2"), "Done.", mode="confirm")
    await app.say(SAID)
    assert till.paid == [30]


@pytest.mark.parametrize("mode", ["confirm", "block"])
async def test_an_act_that_a_permission_without_consent_speaks_of_asks(mode: GuardMode) -> None:
    till = Till()
    change = ("permission", MAY)
    app = desk(till, "Noted.", pay(), "Not done.", pay(), "Done.", change=change, mode=mode)
    await app.say(MAY)
    await app.say("Please see to A1.")
    assert till.paid == []
    await app.say("keep q-0001")
    assert await app.constraints() == [MAY]
