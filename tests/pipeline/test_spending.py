"""What turns cost is priced, kept, summed and bounded, whatever runs them."""

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace import AccController, build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import ConfigError, ModelRefused, NotFoundError, SpendingCeilingError
from config import ROLES, Settings
from schemas.base import SessionKey, Tenant
from schemas.cost import REPLAY, SessionCost
from schemas.report import TurnReport
from tests.fakes.clock import FixedClock
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm, text_content
from tests.pipeline.desk import KEY as DESK_KEY
from tests.pipeline.desk import Desk

KEY = SessionKey(APP_NAME, "ops", "s1")

PRICES = """
as_of = 2026-01-31
[models."scripted/*"]
input = 100.0
cached_input = 10.0
output = 1000.0
[models."judge"]
input = 0
output = 0
"""


@pytest.fixture
def priced(tmp_path: Path) -> Path:
    file = tmp_path / "prices.toml"
    file.write_text(PRICES, encoding="utf-8")
    return file


def settings(tmp_path: Path, prices: Path | None, **others: Any) -> Settings:
    where = {"store": "sqlite", "data_dir": tmp_path / "data", "prices": prices}
    return Settings.model_validate({**where, "learn_on": "evidence", **others})


class Chat:
    """A conversation over a database, with one scripted model and a clock that stands."""

    def __init__(self, chosen: Settings, *, clock: FixedClock | None = None) -> None:
        self.clock, self.llm = clock or FixedClock(), ScriptedLlm()
        self.container = build_container(chosen, self.clock)
        self.conversation = Conversation(self.container, models=dict.fromkeys(ROLES, self.llm))

    async def say(self, text: str, *, key: SessionKey = KEY, name: str = "") -> TurnReport:
        return await self.conversation.turn(key, text, idempotency_key=name)

    async def cost(self) -> SessionCost:
        return await self.conversation.cost(KEY, before=1_000)


def dollars(report: TurnReport) -> float:
    """What a report's tokens cost by the table above."""
    return sum(
        (use.input - use.cached) * 1e-4 + use.cached * 1e-5 + (use.output + use.thinking) * 1e-3
        for use in report.tokens.values()
    )


def thoughtful(text: str) -> LlmResponse:
    """A reply with cached input and thoughts."""
    return LlmResponse(
        content=text_content(text),
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=1_000,
            cached_content_token_count=600,
            candidates_token_count=10,
            thoughts_token_count=90,
        ),
    )


async def test_a_turn_says_what_it_and_its_session_cost(tmp_path: Path, priced: Path) -> None:
    chat = Chat(settings(tmp_path, priced))
    chat.llm.on("generator", thoughtful("It is db-01."))
    first, second = await chat.say("Which server is down?"), await chat.say("And since when?")
    assert first.cost is not None
    assert second.cost is not None
    assert second.cost.turn.usd == pytest.approx(dollars(second))
    assert second.cost.session.usd == pytest.approx(dollars(first) + dollars(second))
    generator = next(s for s in (await chat.cost()).stages if s.stage == "generator")
    assert (generator.tokens.cached, generator.tokens.thinking) == (1_200, 180)
    # Twice 400 full and 600 cached tokens in, 100 out.
    assert generator.cost.usd == pytest.approx(2 * (0.04 + 0.006 + 0.1))


async def test_a_session_is_explained_by_stage_with_saved_calls_and_by_turn(
    tmp_path: Path, priced: Path
) -> None:
    chat = Chat(settings(tmp_path, priced))
    reports = [await chat.say("Which server is down?"), await chat.say("And since when?")]
    cost = await chat.cost()
    assert {stage.stage: (stage.tokens.calls, stage.saved) for stage in cost.stages} == {
        "qualifier": (0, 2),
        "compressor": (2, 0),
        "generator": (2, 0),
        "reflector": (0, 2),
        "curator": (0, 2),
    }
    assert [turn.turn for turn in cost.turns] == [2, 1]
    assert [turn.cost.usd for turn in cost.turns] == [
        report.cost.turn.usd for report in reversed(reports) if report.cost
    ]
    assert cost.cost.usd == pytest.approx(sum(stage.cost.usd or 0 for stage in cost.stages))
    assert cost.today.spent == cost.cost


async def test_replay_grows_with_the_transcript_and_caches_its_prefix(
    tmp_path: Path, priced: Path
) -> None:
    chat = Chat(settings(tmp_path, priced))
    said = "The primary of the checkout cluster is db-01. " * 40
    reports = [await chat.say(f"{number}: {said}") for number in range(4)]
    kept = await chat.container.evidence.list(KEY)
    sizes = [turn.transcript_tokens for turn in reversed(kept)]
    assert sizes == sorted(set(sizes))
    uses = await chat.container.spending.store.uses(KEY, turns=99, before=99)
    replays = [use.tokens for use in reversed(uses) if use.stage == REPLAY]
    # Each turn sends the transcript so far and x_t; the transcript is cached from 1,024 tokens on.
    assert [use.input + use.output for use in replays] == sizes
    assert [use.cached for use in replays] == [0, *(s if s >= 1_024 else 0 for s in sizes[:-1])]
    assert replays[-1].cached
    total = (await chat.cost()).replay.usd
    assert total == pytest.approx(sum(r.cost.replay.usd or 0 for r in reports if r.cost))


async def test_learning_after_the_answer_is_part_of_the_day(tmp_path: Path, priced: Path) -> None:
    chat = Chat(settings(tmp_path, priced, learn_on="every"))
    report = await chat.say("Which server is down?")
    assert report.tokens["reflector"].calls == 1
    today = await chat.container.spending.today(KEY.tenant)
    assert today.spent.usd == pytest.approx(dollars(report))


async def test_a_turn_that_failed_is_paid_for_too(tmp_path: Path, priced: Path) -> None:
    chat = Chat(settings(tmp_path, priced))
    chat.llm.on("generator", ModelRefused("generator: no"))
    with pytest.raises(ModelRefused):
        await chat.say("Which server is down?")
    cost = await chat.cost()
    compressor = next(stage for stage in cost.stages if stage.stage == "compressor")
    assert cost.cost == compressor.cost
    assert (cost.cost.usd or 0) > 0


async def test_at_the_ceiling_turns_are_refused_before_a_model_is_asked_until_the_next_day(
    tmp_path: Path, priced: Path
) -> None:
    chat = Chat(settings(tmp_path, priced, max_cost=0.001))
    report = await chat.say("Which server is down?", name="once")
    asked, events = len(chat.llm.requests), await chat.container.evidence.list(KEY)
    with pytest.raises(SpendingCeilingError) as refused:
        await chat.say("And now?", key=KEY._replace(session="s2"))
    assert report.cost is not None
    assert f"has spent {report.cost.turn} today" in str(refused.value)
    assert "the ceiling is $0.001 a day (ACC_ACE_MAX_COST)" in str(refused.value)
    assert "turns go on at 2026-01-06 00:00 UTC" in str(refused.value)
    assert refused.value.wait_s == 15 * 3_600
    # Another user has a ceiling of their own, and a repeat of a committed turn runs nothing.
    await chat.say("And here?", key=KEY._replace(user="dev"))
    assert (await chat.say("Which server is down?", name="once")).turn == 1
    assert len(chat.llm.requests) == 2 * asked
    assert await chat.container.evidence.list(KEY) == events
    chat.clock.advance(hours=15)
    assert (await chat.say("And now?")).turn == 2


async def test_the_ceiling_is_that_of_the_database_and_outlives_process_and_session(
    tmp_path: Path, priced: Path
) -> None:
    first = Chat(settings(tmp_path, priced, max_cost=0.001))
    await first.say("Which server is down?")
    assert await first.conversation.forget_session(KEY)
    await first.conversation.close()
    second = Chat(settings(tmp_path, priced, max_cost=0.001), clock=first.clock)
    with pytest.raises(SpendingCeilingError):
        await second.say("And now?")
    assert second.llm.requests == []


async def test_a_controller_is_refused_too(tmp_path: Path, priced: Path) -> None:
    container = build_container(settings(tmp_path, priced, max_cost=0.001), FixedClock())
    llm = ScriptedLlm()
    acc = AccController(container, session="s1", models={"qualifier": llm, "compressor": llm})
    await acc.update_state("db-01 is down.", None)
    with pytest.raises(SpendingCeilingError):
        await acc.update_state("And now?", None)


async def test_an_agent_under_the_plugin_is_counted_and_refused(
    tmp_path: Path, priced: Path
) -> None:
    llm = ScriptedLlm().on("generator", "Hi.")
    desk = Desk(
        LlmAgent(name="helper", model=llm), settings=settings(tmp_path, priced, max_cost=0.001)
    )
    await desk.ask("Which server is down?")
    cost = desk.reports[0].cost
    assert cost is not None
    assert (cost.turn.usd or 0) > 0
    assert cost.turn.usd == pytest.approx(dollars(desk.reports[0]))
    asked = len(llm.requests)
    with pytest.raises(RuntimeError) as refused:
        await desk.ask("And now?")
    assert isinstance(refused.value.__cause__, SpendingCeilingError)
    assert len(llm.requests) == asked
    assert len(await desk.evidence()) == 1


async def test_without_a_price_there_are_tokens_and_no_money(tmp_path: Path) -> None:
    chat = Chat(settings(tmp_path, None))
    cost = (await chat.say("Which server is down?")).cost
    assert cost is not None
    assert (cost.turn.usd, cost.turn.complete) == (None, False)
    assert (cost.session.usd, cost.replay.usd) == (None, None)
    assert cost.unpriced == ["scripted/test"]
    assert all(stage.cost.usd is None for stage in (await chat.cost()).stages if stage.model)


@needs("embedded", "openai_compatible")
def test_a_ceiling_that_cannot_be_enforced_is_said_at_the_start(tmp_path: Path) -> None:
    chosen = settings(tmp_path, None, max_cost=1.0)
    with pytest.raises(ConfigError, match=r"ACC_ACE_MAX_COST=1 cannot .* 'scripted/test' is unk"):
        Chat(chosen)
    with pytest.raises(ConfigError, match="price of 'scripted/test' is unknown"):
        Desk(LlmAgent(name="helper", model=ScriptedLlm()), settings=chosen)
    blocks = {role: {"model": "embedded/rules", "fallback": "openai/mystery"} for role in ROLES}
    container = build_container(settings(tmp_path, None, max_cost=1.0, **blocks))
    with pytest.raises(ConfigError, match="price of 'openai/mystery' is unknown"):
        Conversation(container)


async def test_the_agents_own_model_needs_a_price_before_it_is_asked(
    tmp_path: Path, priced: Path
) -> None:
    llm = ScriptedLlm(model="mystery")
    desk = Desk(
        LlmAgent(name="helper", model=llm), settings=settings(tmp_path, priced, max_cost=1.0)
    )
    with pytest.raises(RuntimeError) as refused:
        await desk.ask("Which server is down?")
    assert isinstance(refused.value.__cause__, ConfigError)
    assert "'mystery'" in str(refused.value.__cause__)
    assert llm.requests == []


async def test_under_the_plugin_a_reply_costs_what_the_model_that_was_asked_costs(
    tmp_path: Path, priced: Path
) -> None:
    reply = thoughtful("Hi.").model_copy(update={"model_version": "another-name-001"})
    llm = ScriptedLlm().on("generator", reply)
    desk = Desk(LlmAgent(name="helper", model=llm), settings=settings(tmp_path, priced))
    await desk.ask("Which server is down?")
    cost = desk.reports[0].cost
    assert cost is not None
    assert cost.turn.complete
    assert cost.turn.usd == pytest.approx(dollars(desk.reports[0]))


async def test_what_was_spent_is_part_of_the_export(tmp_path: Path, priced: Path) -> None:
    chat = Chat(settings(tmp_path, priced))
    report = await chat.say("Which server is down?")
    records = [record async for record in chat.conversation.export(KEY.tenant)]
    spent = [record["value"] for record in records if record["kind"] == "spending"]
    assert report.cost is not None
    assert [day["totals"]["nano"] / 1e9 for day in spent] == [report.cost.turn.usd]
    used = [record["value"]["stage"] for record in records if record["kind"] == "model_use"]
    assert sorted(used) == ["compressor", "generator", "replay"]
    await chat.conversation.erase(KEY.tenant)
    left = await chat.container.spending.today(Tenant(*KEY.tenant))
    assert left.spent.usd == 0
    with pytest.raises(NotFoundError, match="no model call of a session 's1'"):
        await chat.cost()


@needs("guard")
async def test_the_plugin_counts_the_guards_model_at_its_own_price(
    tmp_path: Path, priced: Path
) -> None:
    def restart(server: str) -> str:
        """Restart a server."""
        return f"{server} restarted"

    call = types.Part(function_call=types.FunctionCall(name="restart", args={"server": "db-01"}))
    llm = ScriptedLlm().on("generator", types.Content(role="model", parts=[call]), "Done.")
    judge = ScriptedLlm(model="judge").on("ActVerdict", {"conflict": False})
    desk = Desk(
        LlmAgent(name="helper", model=llm, tools=[restart]),
        settings=settings(tmp_path, priced),
        judge=judge,
    )
    await desk.ask("Never mention prices. Restart db-01.")
    assert judge.requests
    uses = await desk.container.spending.store.uses(DESK_KEY, turns=99, before=99)
    nano = {use.model: use.nano for use in uses if use.stage == "generator"}
    assert nano.keys() == {"scripted/test", "judge"}
    assert nano["judge"] == 0
