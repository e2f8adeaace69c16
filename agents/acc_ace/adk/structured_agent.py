"""Structured model calls: one request to a model of ADK, its reply taken whole.

No agent of ADK stands between: its events would be read by nobody. A reply says who answered, at
what cost, with which warnings.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import BaseModel

from acc_ace.adk.model_calls import parts_of
from acc_ace.core.schemas.commit import CompressorReply
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.schemas.qualification import RelevanceBatch
from acc_ace.core.schemas.reflection import Reflection
from acc_ace.core.text.prompt import Prompt
from acc_ace.model_settings import AgentSettings, Role
from acc_ace.models.reply_bounds import reply_facts
from acc_ace.telemetry import ModelSpan
from acc_ace.turn.structured_call import Reply

if TYPE_CHECKING:
    from acc_ace.config import Settings

Models = Mapping[Role, BaseLlm]
"""Models by role."""

SCHEMAS: Final[Mapping[Role, type[BaseModel]]] = {
    "qualifier": RelevanceBatch,
    "compressor": CompressorReply,
    "generator": GeneratorOutput,
    "reflector": Reflection,
    "curator": DeltaBatch,
}
"""The reply schema of each role."""


def content_config(settings: AgentSettings) -> types.GenerateContentConfig:
    """What every kind of model takes, as ADK has it; what is None is left to the provider."""
    return types.GenerateContentConfig(
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.seed,
        max_output_tokens=settings.max_output_tokens,
    )


def direct_completions(models: Models, settings: "Settings") -> dict[Role, "DirectCompletion"]:
    """Direct completions of models, by role."""
    return {
        role: DirectCompletion(model, SCHEMAS[role], settings.agent(role))
        for role, model in models.items()
    }


class DirectCompletion:
    """Implements `acc_ace.turn.structured_call.Completion` by direct model calls."""

    def __init__(self, model: BaseLlm, schema: type[BaseModel], settings: AgentSettings) -> None:
        self._model, self._schema, self._settings = model, schema, settings

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """One call. Raises ModelError when the model did not answer."""
        config = content_config(self._settings)
        config.system_instruction = prompt.text
        request = LlmRequest(
            model=self._model.model,
            contents=[types.Content(role="user", parts=[types.Part(text=user_text)])],
            config=config,
        )
        request.set_output_schema(self._schema)
        reply = Reply(text="", model=self._model.model, request=parts_of(request))
        with ModelSpan(prompt.name, self._model.model) as span:
            async for response in self._model.generate_content_async(request, stream=False):
                parts = (response.content.parts if response.content else None) or []
                text = "".join(part.text for part in parts if part.text and not part.thought)
                facts = reply_facts(response)
                reply = replace(
                    reply,
                    text=reply.text + text,
                    model=facts.model or reply.model,
                    use=reply.use + facts.use,
                    warnings=(*reply.warnings, *facts.warnings),
                )
            span.used(reply.use, reply.model)
        # Only a model with retries and a fallback of ours knows where its models are.
        endpoint_of = getattr(self._model, "endpoint_of", None)
        return replace(reply, endpoint=endpoint_of(reply.model)) if endpoint_of else reply
