"""Structured model calls without an ADK agent: one request to a model, one reply."""

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import BaseModel

from acc_ace.adk.adk_completion import content_config
from acc_ace.adk.reply_facts import reply_facts
from acc_ace.config import AgentSettings
from acc_ace.text.prompt import Prompt
from acc_ace.text.tokens import estimate_tokens
from acc_ace.turn.structured_call import Reply


class DirectCompletion:
    """Implements `acc_ace.turn.structured_call.Completion` over a model alone."""

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
        reply = Reply(text="", model=self._model.model)
        async for response in self._model.generate_content_async(request, stream=False):
            parts = (response.content.parts if response.content else None) or []
            text = "".join(part.text for part in parts if part.text and not part.thought)
            facts = reply_facts(response)
            reply = Reply(
                text=reply.text + text,
                model=facts.model or reply.model,
                tokens_in=facts.tokens_in or estimate_tokens(user_text),
                tokens_out=facts.tokens_out or estimate_tokens(text),
                warnings=(*reply.warnings, *facts.warnings),
            )
        return reply
