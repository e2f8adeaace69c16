"""BoundedMemoryPlugin: an ADK plugin that gives an existing agent bounded memory and a playbook.

    app = App(name="desk", root_agent=existing_agent, plugins=[BoundedMemoryPlugin()])

Before the agent runs, the stages of the bounded turn prepare CCS_t; while it runs, its requests
hold its own instruction, CCS_t, the playbook excerpt, x_t and this turn's tool loop; with the
answer the turn is committed, and then learned from. Any failure ends the run with an error.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.adk.agents import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import BaseNode
from google.genai import types

from acc_ace.adk.act_guard import ActGuard
from acc_ace.adk.act_reading import is_own
from acc_ace.adk.gated_memory import gate_memory
from acc_ace.adk.model_calls import count_failure, note_request
from acc_ace.adk.plugin.delivery import memory_event, put_back_last, reads_events
from acc_ace.adk.plugin.model_request import can_take, find_cache, memory_texts, put_memory
from acc_ace.adk.plugin.open_turn import OpenTurn, is_evidence, run_name
from acc_ace.adk.plugin.open_turns import Turns
from acc_ace.adk.plugin.run_notes import NotesMode
from acc_ace.adk.plugin.turn_memory import TurnMemory
from acc_ace.adk.stages.answer_events import answer_metadata
from acc_ace.adk.stages.stage import projection
from acc_ace.adk.stages.tool_loop import AgentCalls, bound_results, is_failure, result_text
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.text.arguments import checked
from acc_ace.core.text.prompt import load_prompt
from acc_ace.errors import ConfigError, MemoryBypassedError
from acc_ace.model_settings import GuardMode, Role
from acc_ace.models.names import note_on
from acc_ace.turn.observer import Listener
from acc_ace.turn.turn_record import TurnRecords

if TYPE_CHECKING:
    from acc_ace.adk.session_lifecycle import SessionMaintenance
    from acc_ace.adk.tools import SearchEvidence

_PROMPT = Path(__file__).parent / "memory.md"


class BoundedMemoryPlugin(BasePlugin):
    """Bounded memory for any agent, tree of agents or workflow of an App.

    ADK wraps what a plugin raises in RuntimeError; its `__cause__` is ours: SessionBusyError when
    another turn holds the session, InputError for an invalid x_t, StoreError,
    CommitRejected, and MemoryBypassedError where a request would go out with a transcript.
    """

    @checked
    def __init__(
        self,
        container: Container | None = None,
        *,
        models: Mapping[Role, BaseLlm] | None = None,
        listener: Listener | None = None,
        guard: GuardMode | None = None,
        notes: NotesMode = "answer",
        search_evidence: bool = True,
        root: BaseNode | None = None,
        name: str = "bounded_memory",
    ) -> None:
        """`container` is that of the process by default.

        Memory asks the model of the app's first LlmAgent, unless `models` or the settings name
        another. ADK does not show a root that is a workflow to plugins: name it as `root`.

        `listener` receives the events of a turn as they happen; the last one is TurnDone with the
        report, or TurnPaused with the calls that wait. `guard` is the mode for tool calls that
        break a rule, ACC_ACE_GUARD by default. `notes` says where the notes on rules go: below the
        last answer of a run, or into `custom_metadata` alone, as they always do where a program or
        another agent reads the answer. With `search_evidence`, agents that can call
        functions get a tool of this name, which searches memory. Raises ConfigError or StoreError.
        """
        super().__init__(name=name)
        self._container = container or _process_container()
        self._parts = self._container.parts
        self._prompt = load_prompt(_PROMPT)
        self._memory = TurnMemory(self._container, models or {}, root)
        lasting = self._memory.models.lasting()
        self._maintenance = self._parts.maintenance(self._container, models=lasting)
        judge, compressor = (models or {}).get("guard"), lasting["compressor"]
        self._guard = ActGuard(self._container, judge, compressor=compressor, mode=guard)
        self._calls = AgentCalls(self._container, self._guard)
        self._container.spending.require_prices(self._parts.priced_names([self._guard.model]))
        self._turns = Turns(
            self._container,
            self._memory,
            prompt_hashes={**self._memory.prompt_digests, "memory": self._prompt.digest},
            listener=listener,
            notes=notes,
            wake=self._maintenance.wake,
        )
        self._search = self._search_tool() if search_evidence else None

    @property
    def records(self) -> TurnRecords:
        """Where a caller says what it asks of a turn before it runs it."""
        return self._turns.records

    @property
    def guard(self) -> ActGuard:
        """Holds calls against rules, and says what rules do at tools."""
        return self._guard

    @property
    def maintenance(self) -> "SessionMaintenance":
        """Summarises and offloads sessions after turns."""
        return self._maintenance

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Hold the session before ADK stores the message: a refused turn leaves no event."""
        del user_message
        _refuse_live(invocation_context)
        _refuse_compaction(invocation_context)
        await self._turns.take(invocation_context)
        return None

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Open the turn."""
        _refuse_live(invocation_context)
        _refuse_compaction(invocation_context)
        await self._turns.begin(invocation_context)
        turn = self._turns.require(invocation_context)
        gate_memory(invocation_context, self._container, turn.record)
        return None

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> types.Content | None:
        """Hide the transcript; an agent that makes no requests is lent CCS_t instead."""
        turn = self._turns.require(callback_context)
        run = turn.runs[run_name(callback_context)]
        run.hide()
        if reads_events(agent):
            texts = memory_texts(turn.record, self._prompt, self._container.settings.limits)
            ctx = callback_context.get_invocation_context()
            run.lend(memory_event(ctx, texts), (agent.name, ctx.branch))
        return None

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> types.Content | None:
        """Show the whole session to the callbacks that run after the root agent."""
        turn = self._turns.find(callback_context)
        if turn is None:
            return None
        if reads_events(agent):
            branch = callback_context.get_invocation_context().branch
            turn.runs[run_name(callback_context)].take_back((agent.name, branch))
        if not _is_root(turn, agent, callback_context):
            return None
        turn.runs[turn.name].show()
        return await turn.notes.at_end(self, agent, callback_context)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put memory into the request, which holds nothing of earlier turns."""
        turn = self._turns.require(callback_context)
        turn.record.observer.budget.begin()
        ctx = callback_context.get_invocation_context()
        run = turn.runs[run_name(callback_context)]
        run.check()
        model = turn.asked[callback_context.agent_name] = llm_request.model or ""
        self._container.spending.require_prices([model])
        for tool in llm_request.tools_dict.values():
            _refuse_without_plugin(tool)
        self._guard.note(turn.record, llm_request.tools_dict)
        limits = self._container.settings.limits
        bound_results(llm_request, limits.tool_result_tokens, turn.record.rules)
        search = self._search
        can_search = search and can_take(llm_request, search.name)
        if search and can_search and await search.is_offered(callback_context):
            llm_request.append_tools([search])
        await find_cache(llm_request, ctx, run.events())
        run.leave_out(llm_request)
        put = put_memory(llm_request, ctx, turn.record, prompt=self._prompt, limits=limits)
        put_back_last(ctx, llm_request, put)
        text = turn.record.start.brief(limits).text
        note_request(turn.record.observer, callback_context, llm_request, text)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Count what the agent's own models cost, and keep the ids of their tool calls apart."""
        turn = self._turns.find(callback_context)
        if turn is None:
            return None
        run = turn.runs[run_name(callback_context)]
        model, earlier = turn.asked.get(callback_context.agent_name, ""), run.events()
        self._calls.replied(turn.record, callback_context, llm_response, earlier, model=model)
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Count the failed attempts; the agent handles the error itself."""
        turn = self._turns.find(callback_context)
        if turn is not None:
            count_failure(turn.record.observer, callback_context, error)
        return None

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Check and record the call, and link an agent called as a tool to its turn."""
        _refuse_without_plugin(tool)
        turn = self._turns.require(tool_context)
        # What ADK itself brings is known by its code: an app may give a tool any name.
        if not is_own(tool):
            refused = await self._calls.started(turn.record, tool, tool_args, tool_context)
            if refused is not None:
                return refused
        self._turns.calling(turn)
        return None

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Keep a tool's result as evidence; the agent's callbacks and events get it whole."""
        self._note(tool, tool_context, result_text(result), is_error=is_failure(result))
        return None

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        """Keep the failure as evidence; the agent handles it."""
        if isinstance(error, Exception):  # ADK reports cancellations too, of unknown outcome.
            self._note(tool, tool_context, f"{tool.name} failed: {error}", is_error=True)
        return None

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Read the event, persist our state with it, and revert other writes to our state."""
        turn = self._turns.find(invocation_context)
        if turn is None:
            return None
        if event.partial:
            if turn.name == run_name(invocation_context):
                turn.run_answer.take(event)
            return None
        _protect(turn, event)
        if turn.name != run_name(invocation_context):
            turn.run_answer.note_calls(event)
            return None
        self._turns.follow(turn)
        # Attach our state to an event of the run: plugins cannot emit events.
        event.actions.state_delta.update(turn.unsaved)
        turn.unsaved = {}
        if turn.notes.is_own(event):
            return None
        turn.run_answer.take(event)
        if event.is_final_response() and event.content is not None:
            turn.notes.take(event)
            turn.record.place_notes(apart=turn.notes.are_apart)
            _label(turn, event)
            await self._turns.answer(turn, event)
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Seal the turn and learn from it, or leave it paused."""
        await self._turns.end(invocation_context, failed=False)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """Fail the turn: one without an answer changes no state."""
        await self._turns.end(invocation_context, failed=True)

    async def close(self) -> None:
        """Wait for turns that are closing, stop background work, close the models."""
        await self._turns.drain()
        await self._maintenance.close()
        if self._memory.background is not None:
            await self._memory.background.stop()
        await self._memory.models.aclose()
        await self._parts.close_models([self._guard.model])

    def _search_tool(self) -> "SearchEvidence":
        """The tool that reads memory, imported with what it needs when it is offered."""
        from acc_ace.adk.tools import SearchEvidence  # noqa: PLC0415 - when offered

        return SearchEvidence(self._container, lambda context: self._turns.require(context).record)

    def _note(self, tool: BaseTool, context: ToolContext, text: str, *, is_error: bool) -> None:
        turn = self._turns.find(context)
        if turn is not None and is_evidence(tool.name):
            self._calls.ended(turn.record, tool, context, text, is_error=is_error)


def _protect(turn: OpenTurn, event: Event) -> None:
    """Revert writes of others to our keys."""
    for key in keys.PERSISTED & event.actions.state_delta.keys():
        del event.actions.state_delta[key]
        turn.record.observer.warn(f"an agent or tool wrote session.state['{key}']; it was restored")
        turn.unsaved = {**projection(turn.record), **turn.unsaved}


def _label(turn: OpenTurn, event: Event) -> None:
    record, model = turn.record, turn.record.observer.models.get("generator", "")
    metadata = answer_metadata(record, record.decision, note_on(model))
    event.custom_metadata = {**(event.custom_metadata or {}), "acc_ace": metadata}


def _is_root(turn: OpenTurn, agent: BaseAgent, context: CallbackContext) -> bool:
    return turn.name == run_name(context) and turn.root == agent.name


def _refuse_without_plugin(tool: BaseTool) -> None:
    from google.adk.tools.agent_tool import AgentTool  # noqa: PLC0415 - slow; no run is without

    if isinstance(tool, AgentTool) and not tool.include_plugins:
        raise MemoryBypassedError(
            f"tool '{tool.name}' is an AgentTool with include_plugins=False: its agent would run "
            "without bounded memory. Leave include_plugins out, or make it a sub-agent"
        )


def _refuse_live(ctx: InvocationContext) -> None:
    if ctx.live_request_queue is not None or (ctx.run_config and ctx.run_config.support_cfc):
        raise MemoryBypassedError(
            "live sessions keep their transcript at the model, where memory cannot bound it: "
            "use Runner.run_async without support_cfc"
        )


def _refuse_compaction(ctx: InvocationContext) -> None:
    if ctx.events_compaction_config is not None:
        raise ConfigError(
            "events_compaction_config summarises a transcript that the plugin hides, and reloads "
            "it in the middle of a turn: leave it out of the App. No message was stored"
        )


def _process_container() -> Container:
    """The container of the process, whose stores and models are imported when it is built."""
    from acc_ace.bootstrap import process_container  # noqa: PLC0415 - when built

    return process_container()
