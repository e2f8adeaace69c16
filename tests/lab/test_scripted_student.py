"""The scripted student knows what its prompt says, and no more."""

import json

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from acc_ace.schemas.base import Value
from acc_ace.schemas.delta import DeltaBatch
from acc_ace.schemas.interaction import GeneratorOutput
from acc_ace.schemas.reflection import Reflection
from acc_ace.text.prompt import write_inputs
from bench.scripted_student import ScriptedStudent

QUESTION = "Decide about one kind.\n1. cone"
LESSON = 'Asked about "cone", choose avoid.'


async def ask(schema: type[Value], inputs: dict[str, object], text: str = "Go on.") -> Value:
    request = LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text=text)])])
    request.config.system_instruction = write_inputs(inputs)
    request.set_output_schema(schema)
    (reply,) = [item async for item in ScriptedStudent().generate_content_async(request)]
    assert reply.content is not None
    assert reply.content.parts is not None
    return schema.model_validate(json.loads(reply.content.parts[0].text or ""))


@pytest.mark.parametrize(
    ("playbook", "answer", "used"),
    [
        ("", "I do not know.", []),
        (f"[b-00001] helpful=0 harmful=0 :: {LESSON}", "avoid", ["b-00001"]),
        (f"[b-00001] helpful=0 harmful=1 :: {LESSON}", "I do not know.", []),
        (LESSON.replace("cone", "cube"), "I do not know.", []),
        (
            f"[b-00001] helpful=2 harmful=1 :: {LESSON}\n"
            '[b-00002] helpful=3 harmful=0 :: Asked about "cone", choose eat.',
            "eat",
            ["b-00002"],
        ),
    ],
)
async def test_it_answers_what_its_playbook_says_of_the_question(
    playbook: str, answer: str, used: list[str]
) -> None:
    output = await ask(GeneratorOutput, {"playbook": playbook}, QUESTION)
    assert isinstance(output, GeneratorOutput)
    assert (output.final_answer, output.bullet_ids) == (answer, used)


@pytest.mark.parametrize(
    ("feedback", "insight", "tag"),
    [
        ([{"ground_truth": "avoid"}], LESSON, "harmful"),
        ([{"ground_truth": "eat"}], "", "helpful"),
        ([{"reward": 1.0}], "", "helpful"),
        ([{"reward": -1.0}], "", "harmful"),
        ([], "", "neutral"),
    ],
)
async def test_it_learns_from_known_answers_alone(
    feedback: list[dict[str, object]], insight: str, tag: str
) -> None:
    reflection = await ask(
        Reflection,
        {
            "current_input": {"text": QUESTION, "authority": "user"},
            "generation": {"final_answer": "eat"},
            "used_bullets": [{"id": "b-00001", "content": LESSON}],
            "feedback": feedback,
        },
    )
    assert isinstance(reflection, Reflection)
    assert reflection.key_insight == insight
    assert [item.tag for item in reflection.bullet_tags] == [tag]


async def test_it_proposes_a_lesson_once() -> None:
    fresh = await ask(DeltaBatch, {"reflection": {"key_insight": LESSON}, "playbook": ""})
    held = f"[b-00001] helpful=0 harmful=0 :: {LESSON}"
    again = await ask(DeltaBatch, {"reflection": {"key_insight": LESSON}, "playbook": held})
    assert isinstance(fresh, DeltaBatch)
    assert isinstance(again, DeltaBatch)
    assert [item.content for item in fresh.operations] == [LESSON]
    assert again.operations == []
