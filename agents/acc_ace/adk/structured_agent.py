"""Structured model calls: through an inner LlmAgent of ADK, or directly to a model.

The agent's events never leave the stage. A reply says who answered, at what cost, with which
warnings.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel

from acc_ace.adk.model_calls import parts_of, reply_facts
from acc_ace.config import AgentSettings, Role, Settings
from acc_ace.core.schemas.commit import CompressorReply
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.schemas.qualification import RelevanceBatch
from acc_ace.core.schemas.reflection import Reflection
from acc_ace.core.schemas.trace import RequestPart
from acc_ace.core.text.prompt import Prompt
from acc_ace.turn.structured_call import Reply

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


class StructuredAgent:
    """An inner LlmAgent that answers one request in JSON of a schema.

    ADK would put session contents into the request; `before_model` puts exactly the given text
    there instead, so that what a stage sees is decided in one place.
    """

    def __init__(
        self,
        *,
        name: str,
        prompt: Prompt,
        model: BaseLlm,
        schema: type[BaseModel],
        settings: AgentSettings,
    ) -> None:
        self._requests: dict[str, str] = {}
        self._sent: dict[str, tuple[RequestPart, ...]] = {}
        self._model = model.model
        self.agent = LlmAgent(
            name=name,
            model=model,
            instruction=lambda _: prompt.text,
            output_schema=schema,
            include_contents="none",
            disallow_transfer_to_parent=True,
            disallow_transfer_to_peers=True,
            before_model_callback=self._before_model,
            generate_content_config=content_config(settings),
        )

    def bind(self, ctx: InvocationContext) -> "BoundCompletion":
        """A `Completion` that runs this agent in an invocation."""
        return BoundCompletion(self, ctx)

    async def run(self, ctx: InvocationContext, text: str) -> Reply:
        """One call; raises ModelError when the model did not answer."""
        self._requests[ctx.invocation_id] = text
        try:
            reply = await _collect(self.agent.run_async(_quiet(ctx)), self._model)
            return replace(reply, request=self._sent.get(ctx.invocation_id, ()))
        finally:
            self._requests.pop(ctx.invocation_id, None)
            self._sent.pop(ctx.invocation_id, None)

    def _before_model(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        text = self._requests[callback_context.invocation_id]
        llm_request.contents = [types.Content(role="user", parts=[types.Part(text=text)])]
        self._sent[callback_context.invocation_id] = parts_of(llm_request)
        return None


class BoundCompletion:
    """Implements `acc_ace.turn.structured_call.Completion` for one invocation."""

    def __init__(self, agent: StructuredAgent, ctx: InvocationContext) -> None:
        self._agent = agent
        self._ctx = ctx

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """One call of the inner agent, whose instruction is `prompt`."""
        del prompt  # the inner agent was built with it
        return await self._agent.run(self._ctx, user_text)


def content_config(settings: AgentSettings) -> types.GenerateContentConfig:
    """What every kind of model takes, as ADK has it; what is None is left to the provider."""
    return types.GenerateContentConfig(
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.seed,
        max_output_tokens=settings.max_output_tokens,
    )


async def _collect(events: AsyncGenerator[Event, None], model: str) -> Reply:
    reply = Reply(text="")
    async for event in events:
        if event.partial or event.content is None:
            continue
        facts = reply_facts(event)
        answer = _text(event)
        reply = Reply(
            text=answer or reply.text,
            model=facts.model or model,
            use=reply.use + facts.use,
            warnings=(*reply.warnings, *facts.warnings),
        )
    return reply


def _text(event: Event) -> str:
    parts = event.content.parts if event.content and event.content.parts else []
    return "".join(part.text for part in parts if part.text and not part.thought)


def _quiet(ctx: InvocationContext) -> InvocationContext:
    """The same invocation without streaming: a structured reply is only used whole."""
    run_config = ctx.run_config or RunConfig()
    update: dict[str, Any] = {
        "run_config": run_config.model_copy(update={"streaming_mode": StreamingMode.NONE})
    }
    return ctx.model_copy(update=update)


def direct_completions(models: Models, settings: Settings) -> dict[Role, "DirectCompletion"]:
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
        return reply
