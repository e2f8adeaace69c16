"""ACC for any agent loop: steps 1 to 4 of Algorithm 1, without ADK agents, runner or session.

    controller = AccController.from_settings(session="incident-42")
    ccs = await controller.update_state("db-01 is down. No restarts in business hours.", None)
    answer = my_agent(system_prompt, ccs, user_text)      # never a transcript
    await controller.record(answer)                       # evidence for the next recall
    await controller.close()                              # when the conversation is over

Code without an event loop calls `update_state_sync`, `record_sync` and `close_sync`.
It is the same code as the pipeline's: the same gates, stores and prompts.
"""

import asyncio
from collections.abc import Mapping, Sequence

from google.adk.models import BaseLlm

from acc_ace.direct_completion import DirectCompletion
from acc_ace.pipeline import APP_NAME
from acc_ace.prompts import load_prompts
from acc_ace.turn import to_its_end, undo_turn
from acc_ace.turn_record import TurnRecord
from config import Role, load_settings
from core.bootstrap import build_container
from core.container import Container
from core.domain.commit_gate import GateResult
from core.errors import ConflictError, InputError
from core.models.factory import build_model
from core.models.resilient import ResilientLlm
from core.turn.committing import commit_state
from core.turn.compressing import compress
from core.turn.inputs import take_input
from core.turn.keeping import finish_keeping, keep_turn
from core.turn.lineage import line
from core.turn.qualifying import qualify
from core.turn.recalling import recall
from core.turn.returning import finish_return
from schemas.authority import Authority
from schemas.ccs import CompressedCognitiveState
from schemas.commit import CommittedState, ConstraintPin, GoalPin, JournalEntry
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, ToolResult, TurnInput
from schemas.qualification import RelevanceBatch
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey


class AccController:
    """Updates the state of one session, turn by turn."""

    def __init__(
        self,
        container: Container,
        *,
        session: str,
        user: str = "user",
        models: Mapping[Role, BaseLlm] | None = None,
    ) -> None:
        settings, chosen = container.settings, models or {}
        self._container = container
        self._key = SessionKey(APP_NAME, user, session)
        self._prompts = load_prompts()
        qualifier = chosen.get("qualifier") or build_model("qualifier", settings)
        compressor = chosen.get("compressor") or build_model("compressor", settings)
        self._models = (qualifier, compressor)
        self._qualifier = DirectCompletion(qualifier, RelevanceBatch, settings.qualifier)
        self._compressor = DirectCompletion(
            compressor, CompressedCognitiveState, settings.compressor
        )
        self._open: tuple[TurnInput, JournalEntry, SessionRecord] | None = None

    @classmethod
    def from_settings(cls, *, session: str, user: str = "user") -> "AccController":
        """A controller from the environment; raises ConfigError or StoreError."""
        return cls(build_container(load_settings()), session=session, user=user)

    @property
    def last_commit(self) -> JournalEntry | None:
        """What the last update changed: diff, pins, warnings."""
        return self._open[1] if self._open else None

    async def update_state(
        self,
        current_input: str | TurnInput,
        prev_ccs: CompressedCognitiveState | None,
    ) -> CompressedCognitiveState:
        """x_t and CCS_{t-1} become CCS_t: recall, qualify, compress, commit.

        `prev_ccs` is what the last call gave back, or None to begin. A tool's or environment's
        result is a TurnInput with the authority TOOL. Raises InputError, CommitRejected,
        ConflictError or StoreError; a model that fails keeps CCS_{t-1} and marks the uncertainty.
        Cancelled before CCS_t is committed or while it is, it leaves the state at CCS_{t-1}.
        """
        container, limits = self._container, self._container.settings.limits
        turn_input = _taken(current_input, container)
        async with container.lock.hold(self._key, wait_s=limits.turn_wait_s):
            # Before anything else is written: an erasure looks here for what it must wait for.
            session = await container.directory.open(
                self._key, at=container.clock.now(), memory="acc"
            )
            head = await container.journal.head(self._key)
            previous = await self._previous(head, prev_ccs)
            recalled = await recall(
                container.artifacts,
                key=self._key,
                turn_input=turn_input,
                previous=previous,
                limits=limits,
                at=container.local_now(),
            )
            qualified = await qualify(
                recalled,
                key=self._key,
                turn_input=turn_input,
                previous=previous,
                now=container.clock.now(),
                limits=limits,
                completion=self._qualifier,
                prompt=self._prompts.qualifier,
            )
            compressed = await compress(
                qualified.qualification,
                turn_input=turn_input,
                previous=previous,
                limits=limits,
                completion=self._compressor,
                prompt=self._prompts.compressor,
            )
            entry = await self._commit(
                compressed.gate,
                head,
                (*recalled.warnings, *qualified.asked.warnings, *compressed.warnings),
            )
        self._open = (turn_input, entry, session)
        return entry.state.ccs

    def update_state_sync(
        self,
        current_input: str | TurnInput,
        prev_ccs: CompressedCognitiveState | None,
    ) -> CompressedCognitiveState:
        """`update_state` for callers without an event loop; raises RuntimeError inside one."""
        return asyncio.run(self.update_state(current_input, prev_ccs))

    async def close(self) -> None:
        """Close the stores, and the connections of the models that keep some."""
        for model in self._models:
            if isinstance(model, ResilientLlm):
                await model.aclose()
        await self._container.close()

    def close_sync(self) -> None:
        """`close` for callers without an event loop; raises RuntimeError inside one."""
        asyncio.run(self.close())

    async def record(self, answer: str, *, tool_results: tuple[ToolResult, ...] = ()) -> None:
        """Keep what your agent answered as evidence, so that the next turn can recall it.

        Raises InputError when there is no updated turn to answer, ConflictError when that was
        undone, deleted or erased meanwhile, SessionBusyError or StoreError.
        """
        if self._open is None:
            raise InputError("there is no turn to record: call update_state first")
        turn_input, entry, session = self._open
        wait_s = self._container.settings.limits.turn_wait_s
        async with self._container.lock.hold(self._key, wait_s=wait_s):
            if not await self._stands(entry, session):
                raise ConflictError(
                    f"session '{self._key.session}' was deleted, or its turn {entry.state.turn} "
                    "undone, before the answer was recorded, and nothing of it is kept; call "
                    "update_state again to go on"
                )
            # An offload since the update has not read this answer: it is still to be offloaded.
            await self._container.directory.open(
                self._key, at=self._container.clock.now(), memory="acc"
            )
            await self._keep(turn_input, entry, answer, tool_results)

    def record_sync(self, answer: str, *, tool_results: tuple[ToolResult, ...] = ()) -> None:
        """`record` for callers without an event loop; raises RuntimeError inside one."""
        asyncio.run(self.record(answer, tool_results=tool_results))

    async def _keep(
        self,
        turn_input: TurnInput,
        entry: JournalEntry,
        answer: str,
        tool_results: tuple[ToolResult, ...],
    ) -> None:
        interaction = Interaction(
            turn=entry.state.turn,
            invocation_id=entry.invocation_id,
            input=turn_input,
            tool_results=list(tool_results),
            decision=GeneratorOutput(final_answer=answer),
            ccs_version=entry.state.version,
            created_at=self._container.clock.now(),
        )
        await keep_turn(self._container, self._key, interaction)

    async def _commit(
        self, gate: GateResult, head: JournalEntry | None, warnings: Sequence[str]
    ) -> JournalEntry:
        """Commit CCS_t, or nothing: the caller of an update that fails knows of no CCS_t."""
        journal, name = self._container.journal, f"turn-{gate.state.version}"
        # Undone, the session is at what its journal held, not at what the caller brought along.
        before = head.state if head else CommittedState()
        record = TurnRecord(self._key, name, previous=before)
        work = commit_state(
            journal,
            self._key,
            gate,
            invocation_id=name,
            at=self._container.clock.now(),
            warnings=warnings,
        )
        try:
            return await record.commit(work)
        except BaseException:
            await to_its_end(lambda: undo_turn(self._container, record))
            raise

    async def _stands(self, entry: JournalEntry, session: SessionRecord) -> bool:
        """Whether a turn is one that led to the state of the session that it was begun in."""
        known = await self._container.directory.find(self._key)
        head = await self._container.journal.head(self._key)
        if head is None or known is None or known.created_at != session.created_at:
            return False
        version = entry.state.version
        async for earlier in line(self._container.journal, self._key, head.state.version):
            if earlier.state.version <= version:
                return earlier.state.version == version
        return False

    async def _previous(
        self, head: JournalEntry | None, prev_ccs: CompressedCognitiveState | None
    ) -> CommittedState:
        """CCS_{t-1} with its bookkeeping from the journal, whose head is `head`."""
        await finish_return(self._container, self._key, head)
        await finish_keeping(self._container, self._key, head)
        current = head.state if head else CommittedState()
        if prev_ccs is not None and current.ccs == prev_ccs:
            return current
        base = CommittedState(version=current.version, turn=current.turn, next_pin=current.next_pin)
        return base if prev_ccs is None else _adopt(base, prev_ccs, current)


def _taken(current_input: str | TurnInput, container: Container) -> TurnInput:
    if isinstance(current_input, str):
        current_input = TurnInput(text=current_input)
    return take_input(current_input.text, current_input.authority, container.settings.limits)


def _adopt(
    base: CommittedState, ccs: CompressedCognitiveState, current: CommittedState
) -> CommittedState:
    """A state that the caller brought along: its constraints are pinned as they stand."""
    known = {pin.text: pin for pin in current.pins}
    pins: list[ConstraintPin] = []
    number = base.next_pin
    for text in dict.fromkeys(ccs.constraints):
        pin = known.get(text)
        if pin is None:
            pin = ConstraintPin(
                id=f"c-{number:04d}",
                text=text,
                authority=Authority.USER,
                origin_turn=base.turn,
                quote=text,
            )
            number += 1
        pins.append(pin)
    goal = ccs.goal_orientation
    goal_pin = (
        GoalPin(text=goal, authority=Authority.USER, origin_turn=base.turn, quote=goal)
        if goal
        else None
    )
    return base.model_copy(
        update={"ccs": ccs, "pins": pins, "goal_pin": goal_pin, "next_pin": number}
    )
