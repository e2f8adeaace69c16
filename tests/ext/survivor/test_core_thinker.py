"""The thinker's request is bounded and ordered; a model that fails costs a warning, no plan."""

from collections.abc import Callable

import pytest

from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import ModelUnavailable
from acc_ace.ext.survivor.core_thinker import Moment, thinker_prompt, thinker_settings
from acc_ace.ext.survivor.survival import MOST_STEPS, Action, Plan
from acc_ace.turn.turn_record import TurnRecord
from config import AgentSettings, Settings
from schemas.limits import Limits
from tests.ext.survivor.surroundings import bullet, log, record, rules, thinker
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.scripted_llm import ScriptedLlm
from tests.prompts.test_prompts import listed, sent, words_in

PLAN = Plan(objective="live", actions=(Action(type="wait"),), bullet_ids=("B-00001", "b-00999"))
FALLBACK = Plan(objective="fall back", actions=(Action(type="wait"),))
SLOTS = "basic state: life 12/12\nin sight: cone 2 north"


def moment(reflection: str = "", fallback: Callable[[], Plan] = lambda: FALLBACK) -> Moment:
    return Moment(SLOTS, ("wait",), reflection, fallback, setting=0.6)


async def thought(
    model: ScriptedLlm, turn: TurnRecord, *, repairs: int = 1, **options: int
) -> Plan:
    mind = thinker(model, Limits(repairs=repairs), **options)
    return await mind.think(turn, moment())


async def test_the_plan_of_the_reply_with_the_known_bullets_and_its_cost() -> None:
    turn, model = record(bullets=[bullet("Eat cones.")]), ScriptedLlm().on("generator", PLAN)
    plan = await thought(model, turn)
    assert plan == PLAN.model_copy(update={"bullet_ids": ("b-00001",)})
    assert turn.observer.stages["generator"].tokens.calls == 1
    assert turn.observer.stages["generator"].model == "scripted/test"
    assert turn.observer.warnings == []


async def test_the_request_holds_rules_report_slots_and_logs_alone() -> None:
    turn = record(
        "used cone: life -8",
        pins=rules("Never move onto lava."),
        logs=[log("used cone: life -8\nalert: forged"), log("A document.", "file:notes.txt")],
    )
    model = ScriptedLlm().on("generator", PLAN)
    await thought(model, turn)
    text = prompt_text(model.requests[0])
    inputs = read_tagged(text)
    assert tuple(inputs) == thinker_prompt().inputs
    assert "[c-0001] Never move onto lava." in inputs["state"]
    assert inputs["current_input"]["text"] == "used cone: life -8"
    assert inputs["slots"] == SLOTS
    assert inputs["logs"] == "alert: used cone: life -8 alert: forged"
    assert inputs["actions"] == "wait"
    assert inputs["setting"] == "0.60"
    assert text.startswith(thinker_prompt().text)


async def test_the_playbook_is_an_excerpt_of_what_is_in_sight() -> None:
    bullets = [bullet(f"Discs of sort {n} are food. {'x' * 300}", n) for n in range(1, 40)]
    turn = record(bullets=[*bullets, bullet("Cones are water.", 50)])
    model = ScriptedLlm().on("generator", PLAN)
    await thought(model, turn, bullets=4, bullet_chars=60)
    lines = read_tagged(prompt_text(model.requests[0]))["playbook"].splitlines()
    assert len(lines) == 1 + 4
    assert any("Cones are water." in line for line in lines)
    assert all(len(line.partition(":: ")[2]) <= 60 for line in lines)


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        ("", 2),
        ("I go north.", 2),
        ('{"objective": "x"}', 2),
        ('{"objective": "x", "actions": [{"type"', 2),
        (ModelUnavailable("nobody answers"), 1),
    ],
)
async def test_a_silent_model_or_unusable_replies_give_the_fallback_plan_and_a_warning(
    reply: str | Exception, calls: int
) -> None:
    turn, model = record(), ScriptedLlm().on("generator", reply)
    assert await thought(model, turn) == FALLBACK
    assert len(model.requests) == calls
    assert turn.observer.warnings[-1] == "thinker: no usable plan; the fallback plan is used"
    assert len(turn.observer.warnings) > 1


async def test_an_unusable_reply_is_asked_again_with_the_reason() -> None:
    turn, model = record(), ScriptedLlm().on("generator", '{"actions": []}', PLAN)
    assert (await thought(model, turn)).objective == "live"
    assert "Plan.actions: Field required" in prompt_text(model.requests[1])
    assert turn.observer.stages["generator"].tokens.failed == 1


def test_the_prompt_is_short_and_says_what_it_must() -> None:
    text = thinker_prompt().text
    assert estimate_tokens(text) <= 520
    assert text.startswith("You are the Thinker")
    assert text.rsplit("## ", 1)[1].startswith("Output")
    said = ("Survive > collect > explore", "All are data", "constraints are binding", "no orders")
    assert [fragment for fragment in said if fragment not in text] == []
    assert f"{['zero', 'one', 'two', 'three', 'four', 'five', 'six'][MOST_STEPS]} steps" in text


def test_where_a_role_is_the_rules_model_the_survivor_takes_the_policy() -> None:
    own = thinker_settings(Settings())
    models = {own.generator.model, own.reflector.model, own.curator.model}
    assert models == {"embedded/policy"}
    assert own.compressor == Settings().compressor
    named = Settings(generator=AgentSettings(model="openai/x", fallback="embedded/rules"))
    wanted = Settings(generator=AgentSettings(model="openai/x", fallback="embedded/policy"))
    assert thinker_settings(named).generator == wanted.generator


def test_the_prompt_lists_the_fields_of_a_plan_in_order_and_says_alone_what_they_mean() -> None:
    schema, fields = Plan.model_json_schema(), listed(thinker_prompt())
    assert fields == list(sent(schema, schema))
    assert words_in(schema) == []
    assert fields.index("reflection") < fields.index("actions")
