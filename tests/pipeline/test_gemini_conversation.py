"""Whole turns on Gemini over HTTP: what is on the wire, and what each failure costs."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from google.adk.sessions import InMemorySessionService

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import ConfigError, ModelError, ModelOutputError, ModelRefused, ModelUnavailable
from config import ROLES, AgentSettings, Role, Settings
from schemas.base import SessionKey
from schemas.ccs import CCS_FIELDS
from schemas.report import Answer, AnswerChunk, StageFinished, TurnDone, TurnEvent, TurnReport
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import (
    FakeGemini,
    blocked_prompt,
    calls_function,
    empty,
    fake_gemini,
    garbage,
    http_error,
    safety_stop,
    says,
    says_json,
    truncated,
    wire_text,
)
from tests.fakes.loopback import HttpReply, Received
from tests.pipeline.desk import unquoted, with_note

KEY = SessionKey(APP_NAME, "ops", "s1")
BAN = "No restarts during business hours."
POINTED = {"rule_changes": [{"sentence": 1, "kind": "restriction"}]}
MODEL, SPARE = "gemini-3.5-flash", "gemini-3.1-flash-lite"


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    with fake_gemini() as fake:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        yield fake


def conversation(**changes: Any) -> Conversation:
    """A conversation whose five agents are on Gemini, found by the key alone."""
    options: dict[str, Any] = {"backoff_s": 0, "retries": 1, "timeout_s": 20} | changes
    blocks: dict[str, Any] = dict.fromkeys(ROLES, AgentSettings(**options))
    settings = Settings(store="memory").model_copy(update=blocks)
    return Conversation(build_container(settings), session_service=InMemorySessionService())


@pytest.fixture
async def talk(gemini: FakeGemini) -> AsyncIterator[Conversation]:
    found = conversation()
    yield found
    await found.close()


async def say(talk: Conversation, text: str) -> TurnReport:
    return await talk.turn(KEY, text)


async def test_a_key_alone_puts_every_agent_on_gemini(
    gemini: FakeGemini, talk: Conversation
) -> None:
    gemini.script("compressor", says_json(POINTED))
    report = await say(talk, BAN)
    assert report.answer == with_note("ok", BAN)
    assert [item.text for item in report.constraints] == [BAN]
    assert set(report.model.values()) == {MODEL}
    assert [item.role for item in gemini.requests] == [
        "compressor",
        "generator",
        "reflector",
        "curator",
    ]
    assert report.warnings == []


async def test_structured_stages_send_system_and_schema(
    gemini: FakeGemini, talk: Conversation
) -> None:
    await say(talk, BAN)
    for received in gemini.requests:
        config = received.body["generationConfig"]
        assert received.body["systemInstruction"]["parts"][0]["text"]
        assert config["responseMimeType"] == "application/json"
        assert config["responseSchema"]["type"] == "OBJECT"
    schema = gemini.requests_of("compressor")[0].body["generationConfig"]["responseSchema"]
    assert tuple(schema["properties"]) == (
        *[
            name
            for name in CCS_FIELDS
            if name
            not in {"goal_orientation", "constraints", "episodic_trace", "retrieved_artifacts"}
        ],
        "input_is",
        "asks_to_forget",
        "about_user",
        "rule_changes",
    )


async def test_generator_is_sent_state_and_x_t_and_never_the_transcript(
    gemini: FakeGemini, talk: Conversation
) -> None:
    await say(talk, "The first thing that I say is about zebras.")
    for number in range(4):
        await say(talk, f"Message number {number}.")
    last = gemini.requests_of("generator")[-1]
    [content] = last.body["contents"]
    memory, x_t = content["parts"]
    assert memory["text"].startswith('<input name="state">\nconstraints: none\n')
    assert x_t == {"text": "Message number 3."}
    assert "zebras" not in unquoted(wire_text({"contents": last.body["contents"]}))


async def test_answer_streams_as_it_is_written(gemini: FakeGemini, talk: Conversation) -> None:
    answer = "Step one: drain the node. Step two: fail over. Step three: watch the queue. " * 3
    gemini.script("generator", says_json({"reasoning": ["r"], "final_answer": answer}))
    events = [event async for event in talk.stream(KEY, "How do I fail over?")]
    chunks = [event.text for event in events if isinstance(event, AnswerChunk)]
    answers = [event.text for event in events if isinstance(event, Answer)]
    assert len(chunks) > 3
    assert "".join(chunks) == answers[0] == answer
    assert isinstance(events[-1], TurnDone)
    assert gemini.requests_of("generator")[0].stream


async def test_tool_loop_runs_over_the_wire(gemini: FakeGemini, talk: Conversation) -> None:
    final = says_json({"reasoning": [], "bullet_ids": [], "final_answer": "It is 42."})
    gemini.script("generator", calls_function("calculate", expression="6 * 7"), final)
    report = await say(talk, "What is six times seven?")
    first, second = gemini.requests_of("generator")
    declared = [
        item["name"] for tool in first.body["tools"] for item in tool["functionDeclarations"]
    ]
    assert "calculate" in declared
    assert "42" in str(second.body["contents"][-1]["parts"][0]["functionResponse"])
    assert report.answer == "It is 42."
    assert [item["name"] for item in report.tool_calls] == ["calculate"]


async def test_429_is_retried_without_a_warning_and_counted(
    gemini: FakeGemini, talk: Conversation
) -> None:
    gemini.script(0, http_error(429))
    report = await say(talk, BAN)
    assert report.warnings == []
    assert len(gemini.requests_of("compressor")) == 2
    counted = {stage: (use.calls, use.failed) for stage, use in report.tokens.items()}
    assert counted == {
        "compressor": (2, 1),
        **dict.fromkeys(("generator", "reflector", "curator"), (1, 0)),
    }


@needs("embedded")
async def test_used_up_quota_costs_a_turn_one_request_before_the_fallback_answers(
    gemini: FakeGemini,
) -> None:
    for role in ROLES:
        gemini.script(role, http_error(429, retry_delay="600s", quota="PerMinute", limit="10"))
    talk = conversation(retries=3, backoff_s=30, fallback="embedded/rules")
    report = await say(talk, BAN)
    await say(talk, "What now?")
    assert [item.model for item in gemini.requests] == [MODEL]
    assert set(report.model.values()) == {"embedded/rules"}
    assert sum(use.failed for use in report.tokens.values()) == 1
    assert "no quota left, PerMinute (limit 10)" in report.warnings[0]
    await talk.close()


async def test_used_up_quota_without_a_fallback_fails_the_turn_at_once_by_its_name(
    gemini: FakeGemini,
) -> None:
    for role in ROLES:
        gemini.script(role, http_error(429, retry_delay="600s", quota="PerMinute", limit="10"))
    talk = conversation(retries=3, backoff_s=30)
    with pytest.raises(ModelUnavailable, match=r"is not asked before .* UTC.*PerMinute"):
        await say(talk, BAN)
    assert len(gemini.requests) == 1
    await talk.close()


async def test_turn_that_fails_has_shown_what_its_calls_took(
    gemini: FakeGemini, talk: Conversation
) -> None:
    gemini.script("generator", http_error(503))
    events: list[TurnEvent] = []

    async def follow() -> None:
        async for event in talk.stream(KEY, BAN):
            events.append(event)

    with pytest.raises(ModelUnavailable):
        await follow()
    (ended,) = [e for e in events if isinstance(e, StageFinished) and e.stage == "generator"]
    assert (ended.tokens.calls, ended.tokens.failed) == (2, 2)


async def test_slow_models_of_a_turn_share_one_time_budget(
    gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACC_ACE_LIMITS__TURN_MODEL_S", "0.6")
    gemini.script("generator", says("{}", delay_s=20))
    talk = conversation(retries=3, timeout_s=0.4)
    with pytest.raises(ModelUnavailable, match=r"0.6 s in a turn .ACC_ACE_LIMITS__TURN_MODEL_S"):
        await say(talk, BAN)
    assert [item.role for item in gemini.requests] == ["compressor", "generator", "generator"]
    await talk.close()


async def test_stalled_stage_takes_a_third_of_the_time_and_the_answer_comes(
    gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACC_ACE_LIMITS__TURN_MODEL_S", "6")
    gemini.script("compressor", says("{}", delay_s=30))
    talk = conversation(retries=3, timeout_s=5)
    report = await say(talk, BAN)
    assert report.answer == with_note("ok", BAN)
    (cut,) = [text for text in report.warnings if "no time left" in text]
    assert cut.startswith("compressor: model")
    assert "2 s in the compressor" in cut
    assert "ACC_ACE_LIMITS__TURN_MODEL_S" in cut
    assert report.ms["compressor"] < 10_000
    assert [item.text for item in report.constraints] == [BAN]
    await talk.close()


async def test_cut_reply_of_a_stage_is_asked_for_with_twice_the_room(
    gemini: FakeGemini, talk: Conversation
) -> None:
    gemini.script(0, truncated('{"episodic_tr'))
    report = await say(talk, BAN)
    limits = [
        item.body["generationConfig"]["maxOutputTokens"]
        for item in gemini.requests_of("compressor")
    ]
    assert limits == [2_048, 4_096]
    assert report.warnings == []
    assert report.tokens["compressor"].failed == 1


async def test_ordinary_turn_thinks_as_little_as_it_can_where_no_thoughts_are_needed(
    gemini: FakeGemini,
) -> None:
    container = build_container(Settings(store="memory"))
    talk = Conversation(container, session_service=InMemorySessionService())
    await say(talk, BAN)
    await talk.close()
    thoughts = {
        item.role: [*item.body["generationConfig"].get("thinkingConfig", {}).values()]
        for item in gemini.requests
    }
    least = ["MINIMAL"]
    assert thoughts == {"compressor": least, "generator": [], "reflector": [], "curator": least}
    assert all("temperature" not in item.body["generationConfig"] for item in gemini.requests)


async def test_503_is_answered_by_the_fallback_and_the_user_is_told(gemini: FakeGemini) -> None:
    def only_spare(received: Received) -> HttpReply:
        if received.model == MODEL:
            return http_error(503)
        return says_json({"reasoning": [], "final_answer": "from the spare"})

    gemini.script("generator", only_spare)
    talk = conversation(fallback=SPARE)
    report = await say(talk, "Hello.")
    assert report.answer == "from the spare"
    assert report.model["generator"] == SPARE
    assert report.model["compressor"] == MODEL
    assert any(
        "503" in warning and f"answered by fallback {SPARE}" in warning
        for warning in report.warnings
    )
    await talk.close()


FAILURES = {
    "overloaded": http_error(503),
    "rate limited": http_error(429),
    "rejected": http_error(400),
    "not JSON over HTTP": garbage(),
    "malformed JSON": says("Sure! Here is the state you asked for."),
    "truncated JSON": truncated('{"episodic_trace": "we were'),
    "empty": empty(),
    "safety block of the prompt": blocked_prompt(),
    "safety stop": safety_stop(),
    "wrong schema": says_json({"summary": "all is well"}),
    "too late": says("{}", delay_s=60),
}


def _timeout_s(name: str) -> float:
    """Short only where it is to pass, so that a slow machine fails no other test."""
    return 4.0 if name == "too late" else 30.0


@pytest.mark.parametrize("name", FAILURES)
async def test_failed_compression_keeps_the_last_good_state_and_warns(
    name: str, gemini: FakeGemini
) -> None:
    talk = conversation(timeout_s=_timeout_s(name), retries=0)
    gemini.script("compressor", says_json(POINTED), FAILURES[name])
    before = await say(talk, f"{BAN}\nGoal: Restore checkout.")
    assert [rule.text for rule in before.constraints] == [BAN]
    report = await say(talk, "What should I do next?")
    assert report.answer == "ok"
    kept = [rule.model_copy(update={"tentative": False}) for rule in before.constraints]
    assert report.constraints == kept  # No objection in a turn: they are the user's.
    assert report.ccs.goal_orientation == before.ccs.goal_orientation
    assert report.ccs.semantic_gist == before.ccs.semantic_gist
    assert "not updated" in report.ccs.uncertainty_signal
    assert any(warning.startswith("compressor:") for warning in report.warnings)
    await talk.close()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("overloaded", ModelUnavailable),
        ("too late", ModelUnavailable),
        ("rejected", ModelRefused),
        ("safety stop", ModelRefused),
        ("safety block of the prompt", ModelRefused),
        ("empty", ModelOutputError),
        ("truncated JSON", ModelOutputError),
        ("not JSON over HTTP", ModelOutputError),
    ],
)
async def test_turn_without_an_answer_is_wholly_undone(
    name: str, error: type[ModelError], gemini: FakeGemini
) -> None:
    talk = conversation(timeout_s=_timeout_s(name), retries=0)
    first = await say(talk, BAN)
    gemini.script("generator", FAILURES[name])
    with pytest.raises(error, match="generator"):
        await say(talk, "Never deploy on Fridays.")
    state = await talk.state(KEY)
    assert state is not None
    assert (state.ccs, state.turn) == (first.ccs, 1)
    await talk.close()


@pytest.mark.parametrize("role", ["qualifier", "reflector", "curator"])
@pytest.mark.parametrize("name", ["overloaded", "malformed JSON", "safety stop"])
async def test_failure_of_a_helping_stage_costs_a_warning_not_the_answer(
    role: Role, name: str, gemini: FakeGemini
) -> None:
    talk = conversation(retries=0)
    for text in ("The disk of db-01 is full.", "Who owns db-01?"):
        await say(talk, text)
    gemini.script(role, FAILURES[name])
    report = await say(talk, "Since when is it full?")
    assert report.answer == "ok"
    assert any(warning.startswith(f"{role}:") for warning in report.warnings)
    await talk.close()


async def test_a_conversation_without_credentials_says_so_and_still_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    keyless = conversation(model=MODEL)
    with pytest.raises(ConfigError, match="needs Google credentials: set GOOGLE_API_KEY"):
        await keyless.turn(KEY, BAN)
    await keyless.close()


MINIMAL: list[dict[str, Any]] = [
    {
        "semantic_gist": "An outage of checkout.",
        "focal_entities": ["server:db-01"],
        "rule_changes": [{"quote": BAN, "kind": "add"}],
    },
    {"predictive_cue": "Read the logs."},
    {},
]
"""Replies of a Compressor that does as its prompt says: only what changes, no rules, no goal."""


async def test_a_model_that_obeys_costs_two_calls_a_turn_and_forgets_nothing(
    gemini: FakeGemini, talk: Conversation
) -> None:
    gemini.script("compressor", *map(says_json, MINIMAL))
    gemini.script("generator", says_json({"final_answer": "ok"}))
    said = (f"Checkout on db-01 is down. {BAN}", "What now?", "And then?")
    reports = [await say(talk, text) for text in said]

    asked = [item.role for item in gemini.requests if item.role in ("compressor", "generator")]
    assert asked == ["compressor", "generator"] * 3
    assert [report.warnings for report in reports] == [[]] * 3
    ccs = reports[-1].ccs
    assert (ccs.semantic_gist, ccs.predictive_cue) == ("An outage of checkout.", "Read the logs.")
    assert (ccs.focal_entities, ccs.constraints) == (["server:db-01"], [BAN])


async def test_an_entry_that_cannot_be_used_is_asked_for_once_more_and_then_said(
    gemini: FakeGemini, talk: Conversation
) -> None:
    wish = "The team would like short mails from now on."
    odd = {"rule_changes": [{"quote": wish, "kind": "frobnicate"}], "semantic_gist": "Mails."}
    gemini.script("compressor", says_json(odd), says_json({"rule_changes": []}))
    report = await say(talk, wish)

    first, again = gemini.requests_of("compressor")
    assert "frobnicate" not in wire_text(first.body)
    assert "these entries could not be used" in wire_text(again.body)
    assert report.ccs.semantic_gist == "Mails."
    assert f"Not kept: '{wish}'. To keep it as a rule, send only: /rule {wish}" in report.answer


async def test_an_entry_put_right_when_asked_again_is_in_force(
    gemini: FakeGemini, talk: Conversation
) -> None:
    odd = {
        "rule_changes": [{"quote": BAN, "kind": "frobnicate"}],
        "semantic_gist": "It is about restarts.",
    }
    right = {"rule_changes": [{"quote": BAN, "kind": "add"}], "semantic_gist": "Another."}
    gemini.script("compressor", says_json(odd), says_json(right))
    report = await say(talk, BAN)

    assert [item.text for item in report.constraints] == [BAN]
    assert report.ccs.semantic_gist == "It is about restarts."
    assert "Not kept" not in report.answer
