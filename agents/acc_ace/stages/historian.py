"""Historian: instead of steps 2 to 4, a classic memory strategy over the session's messages.

The state is carried over unchanged, as a new version, so that turns are numbered, listed, undone
and switched to ACC and back in the same way whatever the memory.
"""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr

from acc_ace.stages.needs import needed
from acc_ace.stages.stage import CLASSIC, ContentlessStage, State
from acc_ace.turn_record import TurnRecord, TurnRecords
from core.container import Container
from core.domain.commit_gate import GateResult
from core.domain.prompt import Prompt
from core.domain.selection import select_bullets
from core.domain.unpinned_rules import warning_of_unpinned
from core.ports.token_counter import TokenCounter
from core.turn.committing import commit_state
from core.turn.remembering import Past, remember
from schemas import state as keys
from schemas.commit import CcsDiff
from schemas.job import Job, JobKind
from schemas.memory_name import MemoryName


class Historian(ContentlessStage):
    """Chooses the messages that the Generator is shown."""

    memories: ClassVar[frozenset[MemoryName]] = CLASSIC

    _prompt: Prompt = PrivateAttr()
    _counter: TokenCounter = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, prompt: Prompt, counter: TokenCounter
    ) -> None:
        super().__init__(
            container, records, name="historian", description="Remembers by messages, not by CCS."
        )
        self._prompt, self._counter = prompt, counter

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Carry the state over and choose. Raises InputTooLargeError or StoreError."""
        with record.stage("recaller"):
            self._warn(record)
            state = record.previous.model_copy(
                update={"version": record.previous.version + 1, "turn": record.previous.turn + 1}
            )
            # Chosen before anything is committed: an input that is too large changes nothing.
            remembered = await remember(
                record.memory,
                self._past(record),
                needed(record.turn_input, "turn_input", self.name),
                system_prompt=self._system_prompt(record),
                counter=self._counter,
                limits=self._container.settings.limits,
                now=self._container.clock.now(),
            )
            record.context, record.recalled = remembered.context, remembered.recalled
            record.warn(*remembered.recalled.warnings)
            entry = await record.commit(
                commit_state(
                    self._container.journal,
                    record.key,
                    GateResult(state=state, diff=CcsDiff(), warnings=(), kept=True),
                    invocation_id=ctx.invocation_id,
                    at=self._container.clock.now(),
                    warnings=record.warnings,
                )
            )
        if remembered.summarise_through is not None:
            # Off the critical path: whoever works on the jobs of these stores writes it. One job
            # a session, whatever it was asked for: it summarises all that is due when it runs.
            await self._container.jobs.enqueue(
                Job.of(JobKind.SUMMARISE, record.key, at=self._container.clock.now())
            )
        return {keys.CCS: entry.state.to_state()}

    def _warn(self, record: TurnRecord) -> None:
        """Whoever sets or releases a rule is told at once, also by the model, that none is kept."""
        turn_input = needed(record.turn_input, "turn_input", self.name)
        told = warning_of_unpinned(turn_input, record.previous.pins, record.memory)
        record.warn(*([told] if told else []))

    def _past(self, record: TurnRecord) -> Past:
        session = record.session
        return Past(
            key=record.key,
            evidence=self._container.evidence,
            artifacts=self._container.artifacts,
            summary=session.summary if session else None,
            after_turn=session.history_from if session else 0,
            at=self._container.local_now(),
        )

    def _system_prompt(self, record: TurnRecord) -> str:
        playbook = needed(record.playbook, "playbook", self.name).playbook
        topic = needed(record.turn_input, "turn_input", self.name).text
        limit = self._container.settings.limits.playbook_prompt_tokens
        inputs = {
            "playbook": playbook.as_prompt(select_bullets(playbook, topic, max_tokens=limit)),
            "warnings": list(record.warnings),
        }
        return f"{self._prompt.text}\n{self._prompt.render(inputs)}"
