"""The steps around an existing agent: before and after its answer."""

from collections.abc import Mapping, Sequence

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models import BaseLlm
from google.adk.workflow import BaseNode
from google.genai import types

from acc_ace.adk.plugin.host_models import HostModels
from acc_ace.adk.plugin.open_turn import OpenTurn, is_evidence
from acc_ace.adk.plugin.turn_trigger import turn_events, turn_trigger
from acc_ace.adk.stages.initializer import StateInitializer
from acc_ace.adk.stages.learning_stages import background_learning, learning_stages
from acc_ace.adk.stages.stage import State
from acc_ace.adk.stages.tool_loop import is_failure, result_text, tool_result
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.commit import CommitKind, CommittedState, JournalEntry
from acc_ace.core.schemas.interaction import ToolResult
from acc_ace.turn.algorithm import PREPARATION, STEPS, check_order, run_steps
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.steps import TurnSteps
from acc_ace.turn.structured_call import load_prompts
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

MODEL_ROLES: tuple[Role, ...] = ("qualifier", "compressor", "reflector", "curator")
"""The roles that memory itself calls; the answering models belong to the agent."""


class TurnMemory:
    """Runs the steps of the bounded turn before and after an existing agent."""

    def __init__(
        self,
        container: Container,
        models: Mapping[Role, BaseLlm],
        root: BaseNode | None = None,
    ) -> None:
        """Raises ConfigError for a model that cannot be used."""
        self._container = container
        self.models = HostModels(container, MODEL_ROLES, models, root)
        records, digests = TurnRecords(), load_prompts().digests()
        self.prompt_digests: dict[str, str] = {role: digests[role] for role in MODEL_ROLES}
        self._initializer = StateInitializer(container, records, name_attachments=True)
        self.learning = background_learning(container, self.models.lasting())
        self._after = learning_stages(container, records, self.models.completions, self.learning)
        # Step 5 is the agent's, and the turn is committed at its answer.
        check_order([self._initializer, *STEPS, *self._after])

    def require_models(self, ctx: InvocationContext) -> None:
        """Raise ConfigError for a run whose agents do not say which model to ask."""
        self.models.completions(ctx)

    async def open(self, turn: OpenTurn) -> State:
        """Run steps 1 to 4, or resume a paused turn; return the state keys to persist.

        A run that resumes its own paused turn keeps its CCS_t: the result that it brings is
        part of the tool loop. A result that comes after the turn was answered is a new x_t with
        the authority of a tool, and running an answered turn again opens a new one. Raises
        InputError, CommitRejected, StoreError, or MemoryBypassedError for an invocation that
        would replay messages.
        """
        arrived, record = turn_trigger(turn.ctx), turn.record
        state = await self._initialize(turn, arrived.began if arrived.is_result else arrived.newest)
        paused = await self._paused(turn)
        if paused is not None:
            return {**state, **await self._resume(turn, paused)}
        if arrived.is_result:
            state = await self._initialize(turn, arrived.newest)
        steps = TurnSteps(
            self._container,
            record,
            self.models.completions(turn.own),
            invocation_id=turn.own.invocation_id,
        )
        await run_steps(PREPARATION, steps.ports(), record)
        return state

    async def learn(self, turn: OpenTurn) -> None:
        """Reflect and curate, now or later or not at all. Raises ModelError or StoreError."""
        for stage in self._after:
            await stage.work(turn.own, turn.record)

    async def _initialize(self, turn: OpenTurn, content: types.Content | None) -> State:
        ctx = turn.own.model_copy(update={"user_content": content})
        return await self._initializer.work(ctx, turn.record)

    async def _paused(self, turn: OpenTurn) -> JournalEntry | None:
        """The commit of this invocation, if its turn was neither answered nor undone."""
        head = await self._container.journal.head(turn.record.key)
        if head is None or head.invocation_id != turn.ctx.invocation_id:
            return None
        answered = turn.record.previous_turn
        if answered is not None and answered.ccs_version == head.state.version:
            return None
        return head if head.kind in {CommitKind.COMMIT, CommitKind.KEPT} else None

    async def _resume(self, turn: OpenTurn, paused: JournalEntry) -> State:
        record = turn.record
        record.entry, record.is_written = paused, True
        record.previous = await self._before_version(record, paused.state.version)
        await TurnLifecycle(self._container).name(record, turn.ctx.invocation_id)
        record.warn(*paused.warnings)
        _note_loop(turn, self._container.settings.limits.tool_result_tokens)
        return {keys.CCS: paused.state.to_state()}

    async def _before_version(self, record: TurnRecord, version: int) -> CommittedState:
        entry = await self._container.journal.get(record.key, version - 1)
        return entry.state if entry else CommittedState()


def _note_loop(turn: OpenTurn, max_tokens: int) -> None:
    """Keep the tool loop of the runs before the pause as evidence of this turn."""
    results: Sequence[ToolResult] = [
        tool_result(
            response.name or "",
            response.id,
            result_text(response.response),
            is_error=is_failure(response.response),
            max_tokens=max_tokens,
        )
        for event in turn_events(turn.ctx)
        for response in event.get_function_responses()
        if is_evidence(response.name or "")
    ]
    for event in turn_events(turn.ctx):
        turn.run_answer.take(event)
    turn.record.tool_results.extend(results)
