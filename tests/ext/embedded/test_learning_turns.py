"""What the embedded Reflector makes of a correction, turn by turn."""

import pytest

from acc_ace.ext.embedded.roles.reflector import reflect
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.pipeline.talk import Talk
from tests.pipeline.test_learning import ADD, NOTHING, bullet, using


@pytest.mark.parametrize("text", ["No, that's wrong. It is db-02.", "違います。db-02 です。"])
async def test_the_embedded_model_finds_the_correction_and_the_bullets_it_concerns(
    text: str,
) -> None:
    lesson = "Say that db-02 is the one when asked which server is down."
    talk = Talk()
    talk.llm.on("curator", {"operations": [{**ADD["operations"][0], "content": lesson}]}, NOTHING)
    await talk.say("Look at the servers.")
    talk.llm.on("generator", using("b-00001"), using())
    talk.llm.on("reflector", lambda request: embedded(prompt_text(request)))
    await talk.say("Which server is down?")
    await talk.say(text)
    assert (await bullet(talk)).harmful == 1


def embedded(prompt: str) -> dict[str, object]:
    return reflect(read_tagged(prompt)).model_dump(mode="json")
