"""A small model as the Generator: short prompt, the state's words first, no ids of lessons."""

from pydantic import BaseModel

from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.model_settings import GeneratorSettings
from config import Settings
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import Talk, seen

MOST_TOKENS = 600
LESSON = "Read the status page before you answer for the pool."


def talk_with(answer: str, state_says: str = "") -> Talk:
    reply = {"state_says": state_says, "final_answer": answer}
    llm = ScriptedLlm().on("generator", reply)
    return Talk(Settings(store="memory", generator=GeneratorSettings(profile="small")), llm)


async def test_it_is_asked_in_few_words_for_what_the_state_says_and_then_for_the_answer() -> None:
    talk = talk_with("Aiko.", state_says="Aiko commands.")

    report = await talk.say("Who commands the incident?")

    (request,) = talk.llm.requests_of("generator")
    schema = request.config.response_schema
    assert report.answer == "Aiko."
    assert estimate_tokens(str(request.config.system_instruction)) <= MOST_TOKENS
    assert isinstance(schema, type)
    assert issubclass(schema, BaseModel)
    assert list(schema.model_fields) == ["state_says", "final_answer"]


async def test_it_reads_lessons_without_their_ids() -> None:
    talk = talk_with("It is up.")
    lesson = {"type": "ADD", "section": "tools", "content": LESSON, "rationale": "Asked."}
    talk.llm.on("curator", {"operations": [lesson]}, {"operations": []})
    await talk.say("How is the pool?")
    await talk.say("And now?")

    bullets = (await talk.conversation.playbook()).playbook.bullets
    request = seen(talk.llm.requests_of("generator")[-1])
    assert LESSON in [bullet.content for bullet in bullets]
    assert f"- {LESSON}" in request
    assert not [bullet.id for bullet in bullets if bullet.id in request]


async def test_it_may_search_only_where_its_request_names_the_search() -> None:
    talk = talk_with("Noted.")
    await talk.say("The pool of db-01 is exhausted.")
    await talk.say("And now?")
    await talk.say("The log says: " + "db-01 is slow and checkout waits. " * 1_500)
    await talk.say("What does it say?")
    asked = talk.llm.requests_of("generator")
    offered = ["search_evidence" in str(request.config.tools) for request in asked]
    assert offered == [False, False, True, True]
