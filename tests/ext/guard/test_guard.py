"""Rules are enforced at the act: a call that breaks one is asked about, or refused."""

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from acc_ace import build_container
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import ConfigError
from config import ROLES, GuardMode, GuardModelSettings, Settings
from schemas.base import SessionKey
from schemas.commit import RuleScope
from schemas.interaction import GuardDecision, GuardJudge, GuardVerdict, Outcome
from schemas.report import TurnDone, TurnPaused
from tests.fakes.confirmed_tool import PAID
from tests.fakes.default_replies import default_reply, prompt_text, said_in
from tests.fakes.scripted_llm import ScriptedLlm, call, calls
from tests.pipeline.desk import Desk, result_of
from tests.pipeline.test_plugin_requests import kept

TALK = SessionKey(APP_NAME, "ops", "s1")
RULE = "Never refund more than 20 euros."
PARTLY = "Never refund more than 20 euros while the audit is on."
"""No call shows whether it is: below the limit a model judges."""


class Till:
    """A tool that pays back, and what it has paid."""

    def __init__(self) -> None:
        self.paid: list[float] = []

    def refund(self, order: str, amount: float) -> dict[str, float]:
        """Refund an order.

        Args:
            order: Its number.
            amount: How much, in euros.
        """
        self.paid.append(amount)
        return {"refunded": amount}


def consenting(rule: str = RULE) -> ScriptedLlm:
    """A memory whose compressor proposes the rule when it is said."""

    def compress(request: LlmRequest) -> dict[str, Any]:
        is_said = rule in said_in(prompt_text(request))
        return {"rule_changes": [{"kind": "add", "quote": rule}] if is_said else []}

    return ScriptedLlm().on("compressor", compress)


def desk(
    llm: ScriptedLlm,
    till: Till,
    *,
    guard: GuardMode | None = None,
    judge: ScriptedLlm | None = None,
    rule: str = RULE,
) -> Desk:
    agent = LlmAgent(name="ops", model=llm, tools=[till.refund])
    settings = Settings(store="memory", learning="off")
    return Desk(agent, settings, memory=consenting(rule), guard=guard, judge=judge)


def waiting(events: list[Event]) -> types.FunctionCall:
    """The confirmation that a run asks for."""
    found = [call for event in events for call in event.get_function_calls()]
    [asked] = [call for call in found if call.name == "adk_request_confirmation"]
    return asked


async def decisions(app: Desk) -> list[GuardDecision]:
    """All decisions that the evidence keeps, oldest turn first."""
    return [each for turn in reversed(await app.evidence()) for each in turn.guarded]


async def test_a_call_against_a_rule_waits_and_quotes_the_rule() -> None:
    till = Till()
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=50), "Done.")
    app = desk(llm, till)
    await app.say(RULE)
    asked = waiting(await app.say("Refund A1."))
    assert till.paid == []
    assert asked.args is not None
    hint = asked.args["toolConfirmation"]["hint"]
    assert RULE in hint
    assert "c-0001" in hint
    assert "I will stop `refund` when `amount` > 20 EUR." in hint
    assert [turn.outcome for turn in await app.evidence()] == [Outcome.PAUSED, Outcome.ANSWERED]
    # The model was not asked again while the person is.
    assert len(llm.requests_of("generator")) == 2


async def test_yes_runs_it_once_and_is_kept_as_evidence() -> None:
    till = Till()
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=50), "Done.")
    app = desk(llm, till)
    await app.say(RULE)
    asked = waiting(await app.say("Refund A1."))
    assert await app.ask(result_of(asked, {"confirmed": True})) == "Done."
    assert till.paid == [50]
    await app.ask(result_of(asked, {"confirmed": True}))
    assert till.paid == [50]
    first = (await decisions(app))[0]
    assert (first.rule_id, first.verdict, first.by) == (
        "c-0001",
        GuardVerdict.CONFIRMED,
        GuardJudge.PERSON,
    )
    assert first.tool == "refund"


async def test_no_does_not_run_it() -> None:
    till = Till()
    llm = ScriptedLlm().on(
        "generator", "Noted.", call("refund", order="A1", amount=50), "I did not."
    )
    app = desk(llm, till)
    await app.say(RULE)
    asked = waiting(await app.say("Refund A1."))
    assert await app.ask(result_of(asked, {"confirmed": False})) == "I did not."
    assert till.paid == []
    [decision] = await decisions(app)
    assert (decision.verdict, decision.by) == (GuardVerdict.REFUSED, GuardJudge.PERSON)


async def test_block_gives_the_model_the_rule_instead() -> None:
    till = Till()
    llm = ScriptedLlm().on(
        "generator", "Noted.", call("refund", order="A1", amount=50), "I may not."
    )
    app = desk(llm, till, guard="block")
    await app.say(RULE)
    assert await app.ask("Refund A1.") == "I may not."
    assert till.paid == []
    assert RULE in prompt_text(llm.requests[-1])
    assert "I will stop `refund`" in prompt_text(llm.requests[-1])
    [decision] = await decisions(app)
    assert (decision.verdict, decision.by) == (GuardVerdict.BLOCKED, GuardJudge.CHECK)


@pytest.mark.parametrize("mode", ["confirm", "block"])
async def test_a_ban_with_a_condition_that_no_call_shows_does_not_run(mode: GuardMode) -> None:
    till = Till()
    rule = "Never refund A1 until Mika says so."
    llm = ScriptedLlm().on(
        "generator", "Noted.", call("refund", order="A1", amount=5), "I may not."
    )
    app = desk(llm, till, guard=mode, rule=rule)
    await app.say(rule)
    await app.say("Refund A1.")
    assert till.paid == []


async def test_the_compressors_model_judges_unless_another_is_named() -> None:
    till = Till()
    memory = consenting(PARTLY).on(
        "ActVerdict", {"conflict": True, "rule_id": "c-0001", "why": "The audit is on."}
    )
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=12), "Done.")
    agent = LlmAgent(name="ops", model=llm, tools=[till.refund])
    app = Desk(agent, Settings(store="memory", learning="off"), memory=memory)
    await app.say(PARTLY)
    assert "The audit is on." in str(waiting(await app.say("Refund A1.")).args)
    assert till.paid == []


async def test_what_parallel_calls_take_together_is_asked_about() -> None:
    till = Till()
    both = calls(
        ("refund", {"order": "A1", "amount": 15}), ("refund", {"order": "A1", "amount": 15})
    )
    app = desk(ScriptedLlm().on("generator", "Noted.", both, "Done."), till)
    await app.say(RULE)
    waiting(await app.say("Refund A1 twice."))
    assert till.paid == [15]


async def test_no_rule_stops_a_tool_that_the_operator_names_as_read_only() -> None:
    till = Till()
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=50), "Done.")
    settings = Settings(store="memory", learning="off", read_only_tools=("refund",))
    agent = LlmAgent(name="ops", model=llm, tools=[till.refund])
    app = Desk(agent, settings, memory=consenting())
    await app.say(RULE)
    assert await app.ask("Refund A1.") == "Done."
    assert till.paid == [50]


async def test_off_lets_it_run() -> None:
    till = Till()
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=50), "Done.")
    app = desk(llm, till, guard="off")
    await app.say(RULE)
    assert await app.ask("Refund A1.") == "Done."
    assert till.paid == [50]
    assert await decisions(app) == []


async def test_a_harmless_call_runs_at_once() -> None:
    till = Till()
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=12), "Done.")
    app = desk(llm, till)
    await app.say(RULE)
    assert await app.ask("Refund A1.") == "Done."
    assert till.paid == [12]
    assert await decisions(app) == []


async def test_a_model_finds_what_the_check_does_not() -> None:
    till = Till()
    judge = ScriptedLlm().on(
        "ActVerdict", {"conflict": True, "rule_id": "c-0001", "why": "Too much."}
    )
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=12), "Done.")
    app = desk(llm, till, judge=judge, rule=PARTLY)
    await app.say(PARTLY)
    asked = waiting(await app.say("Refund A1, and the same again."))
    assert till.paid == []
    assert asked.args is not None
    assert "Too much." in asked.args["toolConfirmation"]["hint"]
    assert await app.ask(result_of(asked, {"confirmed": True})) == "Done."
    assert till.paid == [12]
    # The person has the last word: the model is not asked a second time.
    assert judge.roles == ["guard"]
    [decision] = await decisions(app)
    assert (decision.rule_id, decision.verdict) == ("c-0001", GuardVerdict.CONFIRMED)


@pytest.mark.parametrize(
    "answer",
    [
        {"conflict": None, "rule_id": None, "why": "Nobody can know."},
        {"conflict": True, "rule_id": "c-0099", "why": "There is no such rule."},
        "no JSON at all",
    ],
)
async def test_an_unsure_or_failing_model_leaves_it_to_the_check(answer: Any) -> None:
    till = Till()
    judge = ScriptedLlm().on("ActVerdict", answer)
    llm = ScriptedLlm().on(
        "generator",
        "Noted.",
        call("refund", order="A1", amount=12),
        "Done.",
        call("refund", order="A2", amount=50),
    )
    app = desk(llm, till, judge=judge, rule=PARTLY)
    await app.say(PARTLY)
    assert await app.ask("Refund A1.") == "Done."
    assert till.paid == [12]
    waiting(await app.say("Refund A2."))
    assert till.paid == [12]


async def test_an_allowing_model_is_evidence() -> None:
    till = Till()
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=12), "Done.")
    app = desk(llm, till, judge=ScriptedLlm(), rule=PARTLY)
    await app.say(PARTLY)
    await app.say("Refund A1.")
    [decision] = await decisions(app)
    assert (decision.verdict, decision.by) == (GuardVerdict.ALLOWED, GuardJudge.MODEL)


@pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning")  # ADK's own.
async def test_an_agent_called_as_a_tool_is_refused_as_nobody_can_be_asked() -> None:
    till = Till()
    inner = ScriptedLlm().on("generator", call("refund", order="A1", amount=50), "I may not.")
    clerk = LlmAgent(name="clerk", model=inner, description="Pays.", tools=[till.refund])
    llm = ScriptedLlm().on("generator", "Noted.", call("clerk", request="A1"), "It was refused.")
    root = LlmAgent(name="ops", model=llm, tools=[AgentTool(clerk)])
    app = Desk(root, Settings(store="memory", learning="off"), memory=consenting())
    await app.say(RULE)
    assert await app.ask("Let the clerk see to A1.") == "It was refused."
    assert till.paid == []
    assert RULE in prompt_text(inner.requests[-1])
    stopped = [each.verdict for each in await decisions(app) if each.rule_id]
    assert stopped == [GuardVerdict.BLOCKED]


async def test_a_tool_declared_as_acting_is_confirmed_when_nothing_decides() -> None:
    till = Till()
    rule = "Refunds are Dana's."
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=5), "Done.")
    settings = Settings(store="memory", learning="off", acting_tools=("refund",))
    memory = ScriptedLlm().on(
        "compressor",
        lambda request: {
            **default_reply("compressor", prompt_text(request)),
            "rule_changes": [{"kind": "add", "quote": rule}],
        },
    )
    memory.on("ActVerdict", {"conflict": None})
    app = Desk(LlmAgent(name="ops", model=llm, tools=[till.refund]), settings, memory=memory)
    await app.say(rule)
    assert await app.constraints() == [rule]
    waiting(await app.say("Refund A1."))
    assert till.paid == []


async def test_of_parallel_calls_only_the_one_against_the_rule_waits() -> None:
    till = Till()
    both = calls(
        ("refund", {"order": "A1", "amount": 50}), ("refund", {"order": "A2", "amount": 12})
    )
    app = desk(ScriptedLlm().on("generator", "Noted.", both, "Done."), till)
    await app.say(RULE)
    asked = waiting(await app.say("Refund both."))
    assert till.paid == [12]
    assert await app.ask(result_of(asked, {"confirmed": True})) == "Done."
    assert till.paid == [12, 50]


async def test_a_no_holds_though_the_rule_was_lifted_meanwhile() -> None:
    till = Till()
    llm = ScriptedLlm().on(
        "generator", "Noted.", call("refund", order="A1", amount=50), "Lifted.", "I did not."
    )
    app = desk(llm, till)
    await app.say(RULE)
    asked = waiting(await app.say("Refund A1."))
    await app.say("release c-0001")
    assert await app.constraints() == []
    await app.say(result_of(asked, {"confirmed": False}))
    assert till.paid == []
    assert (await decisions(app))[-1].verdict is GuardVerdict.REFUSED


async def test_a_model_that_no_one_has_is_named_at_the_start() -> None:
    settings = Settings(store="memory", guard_model=GuardModelSettings(model="nonsense"))
    with pytest.raises(ConfigError, match="ACC_ACE_GUARD_MODEL__MODEL"):
        Desk(LlmAgent(name="ops", model=ScriptedLlm()), settings)


def test_the_guard_is_no_role_of_memory() -> None:
    assert "guard" not in MODEL_ROLES


@pytest.mark.parametrize(
    ("stored", "confirmed"), [(False, True), (False, False), (True, True), (True, False)]
)
async def test_a_conversation_goes_on_with_the_answer_of_a_person(
    tmp_path: Path, *, stored: bool, confirmed: bool
) -> None:
    PAID.clear()
    settings = Settings(
        store="sqlite" if stored else "memory",
        data_dir=tmp_path,
        learning="off",
        tools=("tests.fakes.confirmed_tool:refund",),
    )
    llm = ScriptedLlm().on(
        "generator",
        {"final_answer": "Noted."},
        call("refund", order="A1", amount=50),
        {"final_answer": "Hm."},
        {"final_answer": "Settled."},
    )
    talk = Conversation(build_container(settings), models=dict.fromkeys(ROLES, llm))
    await talk.rules.pin(TALK, RULE, RuleScope.SESSION)
    await talk.turn(TALK, "Good morning.")
    paused = [event async for event in talk.stream(TALK, "Refund A1.")][-1]
    assert isinstance(paused, TurnPaused)
    [waits] = paused.calls
    assert waits.question is not None
    assert RULE in waits.question
    # The person looks at something else first.
    await talk.turn(TALK, "Which rules are there?")
    done = [event async for event in talk.confirm(TALK, {waits.id: confirmed})][-1]
    assert isinstance(done, TurnDone)
    assert done.report.answer == "Settled."
    assert ([50] if confirmed else []) == PAID
    await talk.close()


async def test_both_runs_of_a_turn_that_waited_are_kept_and_what_the_judge_was_asked() -> None:
    judge = ScriptedLlm().on(
        "ActVerdict", {"conflict": True, "rule_id": "c-0001", "why": "Too much."}
    )
    llm = ScriptedLlm().on("generator", "Noted.", call("refund", order="A1", amount=12), "Done.")
    app = desk(llm, Till(), judge=judge, rule=PARTLY)
    await app.say(PARTLY)
    asked = waiting(await app.say("Refund A1, and the same again."))
    before = await kept(app, 2)
    assert [each.stage for each in before][-2:] == ["generator", "guard"]
    assert [part.kind for part in before[-1].parts] == ["role", "schema", "rules", "call", "now"]
    await app.say(result_of(asked, {"confirmed": True}))
    after = await kept(app, 2)
    assert after[: len(before)] == before
    assert after[-1].reply == "Done."
    assert after[-1].parts[-1].kind == "tool_results"
