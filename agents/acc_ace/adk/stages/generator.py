"""Generator: step 5, act. ReAct over System + playbook excerpt + CCS_t + x_t + this turn's tools.

The inner LlmAgent runs ADK's tool loop. Of its events the user sees the tool calls and the final
answer; the structured reply around the answer stays inside.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.events import Event
from google.adk.models import BaseLlm
from pydantic import PrivateAttr

from acc_ace.adk.act_guard import ActGuard
from acc_ace.adk.memory_view import lasting_text
from acc_ace.adk.stages.answer_events import (
    RunAnswer,
    answer_event,
    committed_state,
    is_remote,
    notes_chunk,
    read_output,
    shown_event,
)
from acc_ace.adk.stages.stage import protect_state_keys
from acc_ace.adk.stages.tool_loop import ToolLoop
from acc_ace.adk.structured_agent import content_config
from acc_ace.adk.user_content import hand_on, session_key, state_event
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.bullet import clean_id
from acc_ace.core.schemas.interaction import GeneratorOutput, SmallAnswer
from acc_ace.core.schemas.report import Answer, AnswerChunk, TurnEvent, TurnPaused
from acc_ace.core.text.prompt import Prompt
from acc_ace.errors import AccAceError, ConflictError, ModelOutputError
from acc_ace.model_settings import is_small
from acc_ace.models.names import note_on
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

Tools = Sequence[Any]
"""Callables, ADK tools or ADK toolsets."""


class Generator(BaseAgent):
    """Answers, streaming; records the turn as evidence.

    Raises ModelError, StoreError, or ConflictError for a second answer to the same call.
    """

    _container: Container = PrivateAttr()
    _lifecycle: TurnLifecycle = PrivateAttr()
    _records: TurnRecords = PrivateAttr()
    _prompt: Prompt = PrivateAttr()
    _agent: LlmAgent = PrivateAttr()
    _model_name: str = PrivateAttr()
    _digests: dict[str, str] = PrivateAttr()
    _is_small: bool = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        *,
        model: BaseLlm,
        prompt: Prompt,
        tools: Tools,
        prompt_digests: dict[str, str],
        guard: ActGuard,
    ) -> None:
        super().__init__(name="generator", description="Answers from CCS_t and x_t.")
        self._container, self._records, self._prompt = container, records, prompt
        self._lifecycle = TurnLifecycle(container)
        self._digests, self._model_name = prompt_digests, model.model
        self._is_small = is_small(container.settings.generator)
        self._agent = self._inner(model, list(tools), guard)
        guard.list_tools = self._agent.canonical_tools

    def _inner(self, model: BaseLlm, tools: list[Any], guard: ActGuard) -> LlmAgent:
        loop = ToolLoop(self._container, self._records, guard, self._prompt)
        return LlmAgent(
            name="generator_",
            model=model,
            instruction=self._instruction,
            output_schema=SmallAnswer if self._is_small else GeneratorOutput,
            include_contents="none",
            tools=tools,
            disallow_transfer_to_parent=True,
            disallow_transfer_to_peers=True,
            before_model_callback=loop.before_model,
            after_model_callback=loop.after_model,
            on_model_error_callback=loop.on_model_error,
            before_tool_callback=loop.before_tool,
            after_tool_callback=loop.after_tool,
            on_tool_error_callback=loop.on_tool_error,
            generate_content_config=content_config(self._container.settings.generator),
        )

    def _instruction(self, context: ReadonlyContext) -> str:
        session = context.session
        record = self._records.get(SessionKey(session.app_name, session.user_id, session.id))
        limits = self._container.settings.limits
        return lasting_text(record, self._prompt, limits, with_ids=not self._is_small)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = self._records.get(session_key(ctx))
        with record.observer.stage("generator") as use:
            for _ in range(self._container.settings.limits.repairs + 1):
                run = RunAnswer(record, is_own=True)
                async for inner in self._agent.run_async(ctx):
                    protect_state_keys(ctx, inner, record)
                    if outer := shown_event(inner, run.take(inner)):
                        yield outer
                output = read_output(run.reply, record)
                if run.waits or isinstance(output, GeneratorOutput):
                    break
            use.model = use.model or self._model_name
            if isinstance(output, str) and not run.waits:
                raise _unanswered(ctx, record, output)
            decision, event, news = self._ending(ctx, record, run, output, use.model)
            # Before the event that shows it to the user.
            await self._lifecycle.commit(record, decision, prompt_hashes=self._digests, ahead=event)
        if chunk := notes_chunk(ctx, event, record):
            yield chunk
        yield event
        record.observer.emit(news)

    def _ending(
        self,
        ctx: InvocationContext,
        record: TurnRecord,
        run: RunAnswer,
        output: GeneratorOutput | str,
        model: str,
    ) -> tuple[GeneratorOutput | None, Event, TurnEvent]:
        """The decision of the turn, the event that stores it, and the news for listeners."""
        if run.waits or isinstance(output, str):
            paused = TurnPaused(session=record.key.session, calls=run.waiting)
            return None, state_event(ctx, self.name, committed_state(record)), paused
        output, note = _known_bullets(output, record), note_on(model)
        hand_on(ctx, keys.GENERATOR_OUTPUT, output)
        record.place_notes(apart=is_remote(ctx))
        if record.shown_notes:
            record.observer.emit(AnswerChunk(text=record.shown_notes))
        news = Answer(text=output.final_answer + record.shown_notes, model=model, note=note)
        return output, answer_event(ctx, self.name, record, output, note), news


def _unanswered(ctx: InvocationContext, record: TurnRecord, complaint: str) -> AccAceError:
    """The error of a turn without an answer.

    ADK does nothing when the call that a person answers was answered before.
    """
    parts = (ctx.user_content.parts if ctx.user_content else None) or []
    answers = any(part.function_response for part in parts)
    if answers and not record.tools.replies and not record.tools.started:
        return ConflictError(
            "this call was already answered, in a run that failed, and is not repeated; "
            "send a message to continue"
        )
    return ModelOutputError(f"generator: no usable answer ({complaint})")


def _known_bullets(output: GeneratorOutput, record: TurnRecord) -> GeneratorOutput:
    """The output with the bullet ids that exist; an invented id causes a warning."""
    known = {bullet.id for bullet in record.lessons.bullets}
    ids = dict.fromkeys(map(clean_id, output.bullet_ids))
    used = [*filter(known.__contains__, ids)]
    invented = sorted(ids.keys() - known)
    if invented:
        record.observer.warn(
            f"generator: cited bullets that do not exist: {', '.join(invented)[:200]}"
        )
    return output.model_copy(update={"bullet_ids": used})
