"""A model for measuring learning without an LLM: it notes right answers and gives them again.

It knows nothing but what its prompt shows. So what it answers better with a playbook, it owes to
the playbook, and what reaches the playbook went through curation as any model's lessons do.
"""

import json
import re
from collections.abc import AsyncGenerator, Mapping

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.models.response_shape import role_of
from acc_ace.playbook.learning_plan import score_answer
from acc_ace.rules_model.prompt_parts import Prompt, read_prompt
from acc_ace.rules_model.views import BulletView, bullets_of, items_of, mapping_of, text_of
from acc_ace.schemas.base import Value
from acc_ace.schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from acc_ace.schemas.interaction import GeneratorOutput
from acc_ace.schemas.reflection import BulletTag, Reflection, Tag

SCRIPTED = "scripted/student"

_UNKNOWN = "I do not know."
_SECTION = "answers"
_NUMBER = re.compile(r"^\d{1,2}[.)]\s+")
_LESSON = re.compile(
    r'Asked about "(?P<subject>[^"\n]{1,300})", choose (?P<answer>[^"\n]{1,300})\.'
)


class ScriptedStudent(BaseLlm):
    """Generator, Reflector and Curator by script; deterministic, no network, no LLM.

    A question is known by its last line. Its lesson is 'Asked about "cone", choose avoid.'
    """

    model: str = SCRIPTED

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer for the role that the response schema asks for, as a whole."""
        text = json.dumps(_reply(llm_request).model_dump(mode="json"), ensure_ascii=False)
        content = types.Content(role="model", parts=[types.Part(text=text)])
        yield LlmResponse(content=content, partial=False, model_version=self.model)


def _reply(llm_request: LlmRequest) -> Value:
    prompt = read_prompt(llm_request)
    match role_of(llm_request):
        case "reflector":
            return _reflect(prompt.inputs)
        case "curator":
            return _curate(prompt.inputs)
        case _:
            return _answer(prompt)


def _answer(prompt: Prompt) -> GeneratorOutput:
    """The answer that the best proven lesson about the question gives; on a tie the newest."""
    asked = mapping_of(prompt.inputs.get("current_input"))
    subject = _subject(text_of(asked.get("text")) or prompt.text)
    known = [
        (bullet.helpful - bullet.harmful, place, match["answer"], bullet.id)
        for place, bullet in enumerate(bullets_of(prompt.inputs.get("playbook")))
        if (match := _about(bullet, subject)) is not None
    ]
    if not known:
        return GeneratorOutput(final_answer=_UNKNOWN)
    _, _, answer, bullet_id = max(known)
    return GeneratorOutput(final_answer=answer, bullet_ids=[bullet_id])


def _reflect(inputs: Mapping[str, object]) -> Reflection:
    """Tag the lessons that were used, and note the right answer where another one was given."""
    given = text_of(mapping_of(inputs.get("generation")).get("final_answer"))
    judgements = [mapping_of(item) for item in items_of(inputs.get("feedback"))]
    judgement: Mapping[str, object] = judgements[-1] if judgements else {}
    tag = _tag(given, judgement)
    truth = text_of(judgement.get("ground_truth"))
    subject = _subject(text_of(mapping_of(inputs.get("current_input")).get("text")))
    missed = bool(truth) and tag == "harmful"
    return Reflection(
        error_identification=f"{given} instead of {truth}" if missed else "",
        key_insight=f'Asked about "{subject}", choose {truth}.' if missed else "",
        bullet_tags=[
            BulletTag(id=bullet.id, tag=tag) for bullet in bullets_of(inputs.get("used_bullets"))
        ],
    )


def _tag(given: str, judgement: Mapping[str, object]) -> Tag:
    """Whether an answer was right, by the known answer, or else by the reward."""
    if truth := text_of(judgement.get("ground_truth")):
        return "helpful" if score_answer(given, truth) == 1 else "harmful"
    reward = judgement.get("reward")
    if not isinstance(reward, int | float) or not reward:
        return "neutral"
    return "helpful" if reward > 0 else "harmful"


def _curate(inputs: Mapping[str, object]) -> DeltaBatch:
    """Add the lesson, unless the playbook holds it."""
    lesson = text_of(mapping_of(inputs.get("reflection")).get("key_insight"))
    held = {bullet.content for bullet in bullets_of(inputs.get("playbook"))}
    if not lesson or lesson in held:
        return DeltaBatch(operations=[])
    add = DeltaOperation(type=DeltaType.ADD, section=_SECTION, content=lesson)
    return DeltaBatch(operations=[add])


def _about(bullet: BulletView, subject: str) -> re.Match[str] | None:
    """A lesson about the subject that did no more harm than good."""
    match = _LESSON.fullmatch(bullet.content)
    if match is None or match["subject"] != subject or bullet.harmful > bullet.helpful:
        return None
    return match


def _subject(question: str) -> str:
    """The last line of a question, without its number."""
    lines = question.strip().splitlines()
    return _NUMBER.sub("", lines[-1].strip()) if lines else ""
