"""An agent that answers with a picture or a file has answered."""

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from acc_ace.core.schemas.interaction import Outcome
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import Desk, whole

BAN = "No restarts during business hours."
PICTURE = types.Part(inline_data=types.Blob(data=b"\x89PNG", mime_type="image/png"))
FILE = types.Part(
    file_data=types.FileData(file_uri="gs://desk/report.pdf", mime_type="application/pdf")
)
NAMED = [
    pytest.param([PICTURE], "[image/png attached]", id="picture"),
    pytest.param([FILE], "[application/pdf attached]", id="file"),
    pytest.param(
        [types.Part(text="Here it is."), PICTURE],
        "Here it is.\n[image/png attached]",
        id="both",
    ),
]


def says(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


@pytest.mark.parametrize(("parts", "answer"), NAMED)
async def test_an_answer_with_something_attached_is_kept_by_its_name(
    parts: list[types.Part], answer: str
) -> None:
    llm = ScriptedLlm().on("generator", says(*parts), "Noted.")
    app = Desk(LlmAgent(name="painter", model=llm))
    await app.say(f"Paint a cat. {BAN}")
    [interaction] = await app.evidence()
    assert interaction.outcome is Outcome.ANSWERED
    assert interaction.decision is not None
    assert interaction.decision.final_answer == answer
    assert await app.constraints() == [BAN]
    assert app.memory.roles.count("reflector") == 1
    await app.ask("Now restart db-01.")
    assert BAN in whole(llm.requests[-1])


async def test_a_picture_that_is_only_thought_of_is_no_answer() -> None:
    sketch = PICTURE.model_copy(update={"thought": True})
    app = Desk(LlmAgent(name="painter", model=ScriptedLlm().on("generator", says(sketch))))
    await app.say("Paint a cat.")
    [interaction] = await app.evidence()
    assert interaction.outcome is Outcome.FAILED
