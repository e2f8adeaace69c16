"""While something is unread, an act asks; once all is read it runs."""

from typing import Literal

import pytest
from google.adk.agents import LlmAgent

from config import Settings
from schemas.limits import Limits
from tests.ext.guard.test_guard import waiting
from tests.ext.guard.test_read_before_acts import READS, RESTART, RULE, Hall
from tests.fakes.reading_llm import fails, reads
from tests.fakes.scripted_llm import Script, ScriptedLlm
from tests.pipeline.desk import Desk, result_of
from tests.pipeline.test_large_inputs import LEFT, MODES, ROOM, answer, around, asked_of, lines

Mode = Literal["every", "adaptive"]


def desk(hall: Hall, *answers: Script, mode: Mode, reading: Script = READS, calls: int = 8) -> Desk:
    llm = ScriptedLlm().on("generator", *answers)
    agent = LlmAgent(name="ops", model=llm, tools=[hall.restart])
    settings = Settings(
        store="memory",
        learning="off",
        compress=mode,
        acting_tools=("restart",),
        limits=Limits(input_tokens=ROOM, read_calls=calls),
    )
    memory = ScriptedLlm().on("compressor", reading).on("ActVerdict", {"conflict": None})
    return Desk(agent, settings, memory=memory)


@MODES
async def test_an_act_asks_about_what_is_left_until_it_is_read(mode: Mode) -> None:
    hall = Hall()
    app = desk(hall, RESTART, "Done.", RESTART, "Fine.", mode=mode, reading=reads({}), calls=2)
    text = f"See to web-03.\n{lines(160)}\n{RULE}"
    asked = waiting(await app.say(text))
    # The words from which on nothing is read.
    assert "no compressor could read" in str(asked.args)
    assert "Pump" in str(asked.args)
    assert "Pump 0 ran" not in str(asked.args)
    assert len(asked_of(app)) == 2
    assert "Done." in await answer(app, result_of(asked, {"confirmed": True}))
    assert len(hall.restarted) == 1
    app.root.model._scripts["generator"] = ["Noted."]
    while LEFT in await answer(app, "And the fans?"):
        pass
    app.root.model._scripts["generator"] = [RESTART, "Done."]
    assert "Done." in await answer(app, "See to web-03 again.")
    assert len(hall.restarted) == 2


@MODES
async def test_an_act_asks_while_the_ccm_fails_on_a_long_message(mode: Mode) -> None:
    hall = Hall()
    app = desk(hall, RESTART, "Done.", mode=mode, reading=fails)
    asked = waiting(await app.say(f"See to web-03.\n{lines(160)}\n{RULE}"))
    assert "no compressor could read" in str(asked.args)
    assert hall.restarted == []


@MODES
async def test_an_act_asks_about_what_no_ccm_could_read_in_earlier_turns(mode: Mode) -> None:
    hall = Hall()
    app = desk(hall, "Noted.", "Fine.", RESTART, mode=mode, reading=fails)
    await app.say(RULE)
    await app.say("And the fans?")
    asked = waiting(await app.say("See to web-03."))
    assert "no compressor could read" in str(asked.args)
    assert RULE in str(asked.args)
    assert hall.restarted == []


@MODES
async def test_a_rule_in_the_middle_of_a_long_message_meets_its_own_act(mode: Mode) -> None:
    hall = Hall()
    app = desk(hall, RESTART, mode=mode)
    asked = waiting(await app.say(around(RULE, before=80, after=80)))
    assert RULE in str(asked.args)
    assert hall.restarted == []


@pytest.mark.parametrize("words", ["Thanks!", "And the fans?"])
async def test_with_every_turn_read_no_act_asks_for_short_messages(words: str) -> None:
    hall = Hall()
    app = desk(hall, "Noted.", RESTART, "Done.", mode="every", reading=reads({}))
    await app.say("The pump is loud.")
    assert await app.ask(words) == "Done."
    assert len(hall.restarted) == 1
