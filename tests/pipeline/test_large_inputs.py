"""What plain ADK takes is taken: a long message is read in pieces, and what is left is said."""

from typing import Any, Literal

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from acc_ace.core.text.tokens import estimate_tokens
from config import Settings
from schemas.artifact import RecallQuery
from schemas.limits import Limits
from tests.fakes.default_replies import default_reply, prompt_text, read_tagged
from tests.fakes.reading_llm import fails, numbered, reads
from tests.fakes.scripted_llm import Script, ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk, text_of, whole
from tests.pipeline.talk import Talk

RULE = "Never deploy on Fridays."
SHY = "Restarts belong to the night shift."
"""No rule to the trained reader: only a CCM finds it."""
READS = reads({SHY: "restriction"})
OWN = "Always name the pump."
ROOM = 500
"""Tokens of an input in one request."""
LEFT = "Not read for rules yet"
Mode = Literal["every", "adaptive"]
MODES = pytest.mark.parametrize("mode", ["every", "adaptive"])


def lines(count: int, start: int = 0) -> str:
    """Ordinary lines of about fifteen tokens."""
    numbers = range(start, start + count)
    return "\n".join(f"Pump {n} ran for {n + 7} hours and was quiet." for n in numbers)


def around(middle: str, *, before: int, after: int) -> str:
    """A text between ordinary lines."""
    return "\n".join(filter(None, [lines(before), middle, lines(after, before)]))


def desk(
    *answers: Script, mode: Mode = "every", reading: Script | None = None, **limits: Any
) -> Desk:
    llm = ScriptedLlm().on("generator", *(answers or ["Noted."]))
    bounds = Limits(**{"input_tokens": ROOM, "read_calls": 8, **limits})
    settings = Settings(store="memory", learning="off", compress=mode, limits=bounds)
    memory = ScriptedLlm()
    if reading is not None:
        memory.on("compressor", reading)
    return Desk(LlmAgent(name="ops", model=llm), settings, memory=memory)


async def answer(app: Desk, message: str | types.Content) -> str:
    """What a turn says, with all notes."""
    return "".join(map(text_of, await app.say(message)))


def asked_of(app: Desk) -> list[LlmRequest]:
    return app.memory.requests_of("compressor")


@MODES
@pytest.mark.parametrize(("before", "after"), [(0, 150), (75, 75), (150, 0)])
async def test_a_rule_is_in_force_wherever_it_stands(mode: Mode, before: int, after: int) -> None:
    app = desk(mode=mode, reading=READS)
    said = await answer(app, around(SHY, before=before, after=after))
    assert await app.constraints() == [SHY]
    assert LEFT not in said
    assert len(asked_of(app)) > 3
    for request in asked_of(app):
        shown = read_tagged(prompt_text(request))["current_input"]["text"]
        # Each number of a sentence is three tokens more.
        assert estimate_tokens(shown) < ROOM + 3 * len(numbered(request))


@MODES
async def test_the_least_reply_is_enough(mode: Mode) -> None:
    app = desk(mode=mode)
    await answer(app, around(RULE, before=75, after=75))
    assert await app.constraints() == [RULE]


@MODES
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
async def test_a_rule_in_200_kilobytes_is_in_force_or_said_unread(mode: Mode, place: float) -> None:
    count = 4_600
    app = desk(mode=mode, input_tokens=8_192, read_calls=4, reading=READS)
    text = around(SHY, before=int(count * place), after=count - int(count * place))
    assert len(text.encode()) > 200_000
    said = await answer(app, text)
    assert LEFT in said
    assert len(asked_of(app)) == 4
    assert await app.constraints() == ([] if place == 1 else [SHY])
    for _ in range(4):
        if not await app.constraints():
            await answer(app, "And how are the fans?")
    assert await app.constraints() == [SHY]


@MODES
async def test_what_is_left_is_read_in_the_next_turns_and_once(mode: Mode) -> None:
    app = desk(mode=mode, read_calls=2, reading=READS)
    assert LEFT in await answer(app, around(SHY, before=100, after=60))
    seen = [*numbered(asked_of(app)[0]).values(), *numbered(asked_of(app)[1]).values()]
    while LEFT in await answer(app, "And the fans?"):
        pass
    news = [*map(numbered, asked_of(app)[2:])]
    read = [line for request in news for line in request.values() if line.startswith(("Pump", SHY))]
    expected = around(SHY, before=100, after=60).splitlines()
    assert seen + read == expected
    assert await app.constraints() == [SHY]
    count = len(asked_of(app))
    await answer(app, "Good.")
    assert all("Pump" not in str(numbered(each)) for each in asked_of(app)[count:])


@MODES
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("```", "```"),
        ("Kim wrote:", "^^ That was Kim's mail."),
        ("<mail>", "</mail>"),
        ("> quoted", ""),
        ("Kim told me “", "”"),
    ],
)
async def test_others_words_bind_nothing_in_any_piece(
    mode: Mode, opening: str, closing: str
) -> None:
    pasted = "\n".join([lines(60), RULE, SHY, lines(60, 60)])
    if opening.startswith(">"):
        pasted = "\n".join(f"> {line}" for line in pasted.splitlines())
    app = desk(mode=mode, reading=reads(dict.fromkeys([SHY, RULE, OWN], "restriction")))
    await answer(app, "\n".join([opening, pasted, closing, OWN]))
    assert RULE not in await app.constraints()
    assert SHY not in await app.constraints()
    assert all(
        "Pump" not in sentence for each in asked_of(app) for sentence in numbered(each).values()
    )
    assert await app.constraints() == [OWN]
    assert len(asked_of(app)) == 2


@MODES
async def test_a_piece_of_a_message_is_no_consent_and_no_command(mode: Mode) -> None:
    app = desk(mode=mode)
    await answer(app, RULE)
    assert await app.constraints() == [RULE]
    await answer(app, f"{lines(60)}\n\nno c-0001")
    assert await app.constraints() == [RULE]


@MODES
async def test_a_ccm_that_fails_on_a_piece_loses_nothing(mode: Mode) -> None:
    broken = True

    def stumbles(request: LlmRequest) -> Any:
        return fails(request) if broken and "Pump 70 " in prompt_text(request) else READS(request)

    app = desk(mode=mode, reading=stumbles)
    said = await answer(app, around(SHY, before=140, after=10))
    assert LEFT in said
    assert await app.constraints() == []
    broken = False
    assert LEFT not in await answer(app, "And the fans?")
    assert await app.constraints() == [SHY]


@MODES
async def test_a_ccm_that_fails_for_six_turns_loses_nothing(mode: Mode) -> None:
    app = desk(mode=mode, reading=fails)
    assert LEFT in await answer(app, around(SHY, before=140, after=10))
    for turn in range(5):
        assert LEFT in await answer(app, f"And fan {turn}?")
    app.memory._scripts["compressor"] = [READS]
    while LEFT in await answer(app, "And the fans?"):
        pass
    assert await app.constraints() == [SHY]


@MODES
async def test_the_answering_agent_sees_both_ends_and_the_way_to_the_rest(mode: Mode) -> None:
    look = call("search_evidence", query="code of the cellar")
    app = desk(look, "It is 4711.", mode=mode)
    text = around("The code of the cellar is 4711.", before=75, after=75)
    assert "4711" in await answer(app, text)
    first, second = app.root.model.requests
    shown = whole(first)
    assert "Pump 0 ran" in shown
    assert "Pump 149 ran" in shown
    assert "4711" not in shown
    assert 'tokens: search_evidence, \\"turn:s1:1\\"]' in shown
    said = [part.text or "" for content in first.contents for part in content.parts or []]
    assert max(map(estimate_tokens, said)) <= ROOM + 200
    assert "The code of the cellar is 4711." in whole(second)


@MODES
async def test_a_fact_in_the_middle_is_found_in_a_later_turn(mode: Mode) -> None:
    app = desk(mode=mode)
    await answer(app, around("The code of the cellar is 4711.", before=200, after=200))
    await answer(app, "What is the code of the cellar?")
    assert "The code of the cellar is 4711." in whole(app.root.model.requests[-1])


async def test_a_large_attachment_is_shown_at_its_ends_and_found() -> None:
    app = desk("Noted.", call("search_evidence", query="code of the cellar"), "4711.")
    log = around("The code of the cellar is 4711.", before=200, after=200)
    parts = [
        types.Part(text="Look at this."),
        types.Part(inline_data=types.Blob(data=log.encode(), mime_type="text/plain")),
    ]
    await answer(app, types.Content(role="user", parts=parts))
    [compressed] = asked_of(app)
    [first] = app.root.model.requests
    for request in (compressed, first):
        assert estimate_tokens(prompt_text(request)) < 3_500
        assert "attached:s1:1:1" in prompt_text(request)
    await answer(app, "What is the code of the cellar?")
    assert "The code of the cellar is 4711." in whole(app.root.model.requests[-1])


async def test_an_unanswered_long_message_is_read_with_the_next() -> None:
    app = desk(RuntimeError("down"), "Noted.", mode="adaptive", reading=READS)
    with pytest.raises(RuntimeError, match="down"):
        await answer(app, around(SHY, before=75, after=75))
    await answer(app, "Hello.")
    assert await app.constraints() == [SHY]
    found = await app.container.artifacts.recall(RecallQuery(key=KEY, text="Pump 60", limit=5))
    assert all("Pump 60" not in each.artifact.content for each in found.candidates)


async def test_the_conversation_takes_it_too() -> None:
    bounds = Limits(input_tokens=ROOM, read_calls=2)
    talk = Talk(Settings(store="memory", learning="off", limits=bounds))
    talk.llm.on("compressor", READS)
    report = await talk.say(around(SHY, before=10, after=150))
    assert await talk.constraints() == [SHY]
    assert any(LEFT in note for note in report.notes)
    [request] = talk.llm.requests_of("generator")
    said = [part.text or "" for content in request.contents for part in content.parts or []]
    assert 'tokens: search_evidence, "turn:s1:1"]' in "".join(said)
    assert max(map(estimate_tokens, said)) <= ROOM + 400


def test_the_default_reply_is_the_least() -> None:
    assert "rule_changes" not in default_reply("compressor", "")
