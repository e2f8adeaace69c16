"""The steps around an existing agent: before and after its answer."""

from collections.abc import Mapping
from typing import Any

from google.adk.models import BaseLlm
from google.adk.workflow import BaseNode
from google.genai import types

from acc_ace.adk.act_reading import acts_unseen
from acc_ace.adk.plugin.host_models import HostModels
from acc_ace.adk.plugin.open_turn import OpenTurn, is_evidence
from acc_ace.adk.plugin.turn_trigger import turn_events, turn_trigger
from acc_ace.adk.stages.initializer import open_turn
from acc_ace.adk.stages.stage import State
from acc_ace.adk.stages.tool_loop import is_failure, result_text, tool_result
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.commit import CommitKind, JournalEntry
from acc_ace.model_settings import Role
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.reading import Asked
from acc_ace.turn.structured_call import load_prompts

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
        self._container, self._root = container, root
        self.models = HostModels(container, MODEL_ROLES, models, root)
        digests = load_prompts().digests()
        self.prompt_digests: dict[str, str] = {role: digests[role] for role in MODEL_ROLES}
        self.lifecycle = TurnLifecycle(container)
        parts = container.parts
        self._learning, self.background = parts.learning(container, self.models.lasting())

    async def open(self, turn: OpenTurn) -> State:
        """Run steps 1 to 4, or resume a paused turn; return the state keys to persist.

        A run that resumes its own paused turn keeps its CCS_t: the result that it brings is
        part of the tool loop. A result that comes after the turn was answered is a new x_t with
        the authority of a tool, and running an answered turn again opens a new one. Raises
        InputError, CommitRejected, StoreError, or MemoryBypassedError for an invocation that
        would replay messages.
        """
        arrived, record = turn_trigger(turn.ctx), turn.record
        state = await self._open(turn, arrived.began if arrived.is_result else arrived.newest)
        paused, completions = await self._paused(turn), self.models.completions(turn.ctx)
        if paused is not None:
            await self.lifecycle.resume(record, paused)
            self.lifecycle.can_read(record, completions)
            _note_loop(turn, self._container.settings.limits.tool_result_tokens)
            return {**state, keys.CCS: paused.state.to_state()}
        if arrived.is_result:
            state = await self._open(turn, arrived.newest)
        reason = Asked.UNSEEN if self._acts_unseen(turn) else None
        await self.lifecycle.prepare(record, completions, reason=reason)
        return state

    def _acts_unseen(self, turn: OpenTurn) -> bool:
        """Whether the host can act where no callback of the plugin sees it."""
        agent: Any = self._root or turn.ctx.agent
        return acts_unseen(getattr(agent, "root_agent", agent), turn.ctx.plugin_manager.plugins)

    async def learn(self, turn: OpenTurn) -> None:
        """Reflect and curate, now or later or not at all. Raises ModelError or StoreError."""
        await self._learning.learn(turn.record, self.models.completions(turn.ctx))

    async def _open(self, turn: OpenTurn, content: types.Content | None) -> State:
        state = turn.ctx.session.state
        return await open_turn(
            self.lifecycle, self._container, turn.record, state, content, is_host=True
        )

    async def _paused(self, turn: OpenTurn) -> JournalEntry | None:
        """The commit of this invocation, if its turn was neither answered nor undone."""
        head = await self._container.journal.head(turn.record.key)
        if head is None or head.invocation_id != turn.ctx.invocation_id:
            return None
        answered = turn.record.start.previous_turn
        if answered is not None and answered.ccs_version == head.state.version:
            return None
        return head if head.kind in {CommitKind.COMMIT, CommitKind.KEPT} else None


def _note_loop(turn: OpenTurn, max_tokens: int) -> None:
    """Keep the tool loop of the runs before the pause as evidence of this turn."""
    for event in turn_events(turn.ctx):
        turn.run_answer.take(event)
        turn.record.tools.results.extend(
            tool_result(
                response.name or "",
                response.id,
                result_text(response.response),
                is_error=is_failure(response.response),
                max_tokens=max_tokens,
            )
            for response in event.get_function_responses()
            if is_evidence(response.name or "")
        )
