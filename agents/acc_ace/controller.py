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
from collections.abc import Mapping

from google.adk.models import BaseLlm

from acc_ace.adk.stages.acc_stages import with_lost_calls
from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.bootstrap import build_container
from acc_ace.config import Role, load_settings
from acc_ace.container import Container
from acc_ace.errors import ConflictError, InputError, NotFoundError
from acc_ace.models.factory import build_model
from acc_ace.models.resilient import ResilientLlm
from acc_ace.pipeline import APP_NAME
from acc_ace.schemas.base import Authority, SessionKey
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import CommittedState, ConstraintPin, GoalPin, JournalEntry
from acc_ace.schemas.interaction import GeneratorOutput, Interaction, ToolResult, TurnInput
from acc_ace.schemas.qualification import RelevanceBatch
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.session_changes import line
from acc_ace.turn.steps import check_request_id, compress, qualify, recall, take_input
from acc_ace.turn.structured_call import load_prompts
from acc_ace.turn.turn_commit import prepared_entry
from acc_ace.turn.turn_record import TurnRecord, needed


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
        self._lifecycle = TurnLifecycle(container)
        self._open: TurnRecord | None = None

    @classmethod
    def from_settings(cls, *, session: str, user: str = "user") -> "AccController":
        """A controller from the environment; raises ConfigError or StoreError."""
        return cls(build_container(load_settings()), session=session, user=user)

    @property
    def last_commit(self) -> JournalEntry | None:
        """What the last update changed: diff, pins, warnings."""
        return self._open.entry if self._open else None

    async def update_state(
        self,
        current_input: str | TurnInput,
        prev_ccs: CompressedCognitiveState | None,
        *,
        idempotency_key: str = "",
    ) -> CompressedCognitiveState:
        """x_t and CCS_{t-1} become CCS_t: recall, qualify, compress, commit.

        `prev_ccs` is what the last call gave back, or None to begin. A tool's or environment's
        result is a TurnInput with the authority TOOL. An update that was committed under the same
        `idempotency_key` gives back its state and runs nothing. Raises InputError, CommitRejected,
        ConflictError or StoreError; a model that fails keeps CCS_{t-1} and marks the uncertainty.
        What is cancelled before its commit leaves the state at CCS_{t-1}.
        """
        check_request_id(idempotency_key)
        turn_input = _taken(current_input, self._container)
        async with self._lifecycle.hold(self._key):
            kept = await self._lifecycle.repeated(
                self._key, idempotency_key, turn_input.text, turn_input.authority
            )
            if kept is not None:
                self._open = await self._again(kept)
                return needed(self._open.entry, "entry", "controller").state.ccs
            # Undone, the session is at what its journal held, not at what the caller brought.
            record = TurnRecord(self._key, "", idempotency_key=idempotency_key)
            await self._lifecycle.open(record, turn_input, begin_known=False)
            record.invocation_id = f"turn-{record.previous.version + 1}"
            try:
                await self._prepare(record, turn_input, prev_ccs)
                # The caller acts next: to the journal that is a pause, which `record` ends.
                await self._lifecycle.commit(record, None, prompt_hashes={})
            finally:
                await self._lifecycle.fail(record)
        self._open = record
        return needed(record.entry, "entry", "controller").state.ccs

    async def _prepare(
        self,
        record: TurnRecord,
        turn_input: TurnInput,
        prev_ccs: CompressedCognitiveState | None,
    ) -> None:
        container, limits = self._container, self._container.settings.limits
        previous = _previous(record.previous, prev_ccs)
        record.recalled = await recall(
            container.artifacts,
            key=self._key,
            turn_input=turn_input,
            previous=previous,
            limits=limits,
            at=container.local_now(),
        )
        record.warn(*record.recalled.warnings)
        qualified = await qualify(
            with_lost_calls(record),
            key=self._key,
            turn_input=turn_input,
            previous=previous,
            now=container.clock.now(),
            limits=limits,
            completion=self._qualifier,
            prompt=self._prompts.qualifier,
        )
        record.warn(*qualified.asked.warnings)
        compressed = await compress(
            qualified.qualification,
            turn_input=turn_input,
            previous=previous,
            limits=limits,
            completion=self._compressor,
            prompt=self._prompts.compressor,
        )
        record.warn(*compressed.warnings)
        record.entry = prepared_entry(
            compressed.gate,
            invocation_id=record.invocation_id,
            at=container.clock.now(),
            warnings=record.warnings,
        )

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
        record = self._open
        if record is None:
            raise InputError("there is no turn to record: call update_state first")
        entry = needed(record.entry, "entry", "controller")
        async with self._lifecycle.hold(self._key):
            if not await self._stands(entry, record):
                raise ConflictError(
                    f"session '{self._key.session}' was deleted, or its turn {entry.state.turn} "
                    "undone, before the answer was recorded, so it was not kept; call "
                    "update_state again to continue"
                )
            record.tool_results = list(tool_results)
            output = GeneratorOutput(final_answer=answer)
            await self._lifecycle.commit(record, output, prompt_hashes={})

    def record_sync(self, answer: str, *, tool_results: tuple[ToolResult, ...] = ()) -> None:
        """`record` for callers without an event loop; raises RuntimeError inside one."""
        asyncio.run(self.record(answer, tool_results=tool_results))

    async def _stands(self, entry: JournalEntry, record: TurnRecord) -> bool:
        """Whether a turn is one that led to the state of the session that it was started in."""
        known, opened = await self._container.directory.find(self._key), record.session
        head = await self._container.journal.head(self._key)
        if head is None or known is None or opened is None or known.created_at != opened.created_at:
            return False
        version = entry.state.version
        async for earlier in line(self._container.journal, self._key, head.state.version):
            if earlier.state.version <= version:
                return earlier.state.version == version
        return False

    async def _again(self, kept: Interaction) -> TurnRecord:
        """The turn that was committed before, so that its answer can be recorded."""
        entry = await self._container.journal.get(self._key, kept.ccs_version)
        if entry is None:
            raise NotFoundError(f"session '{self._key.session}' has no version {kept.ccs_version}")
        return TurnRecord(
            self._key,
            kept.invocation_id,
            turn_input=kept.input,
            session=await self._container.directory.find(self._key),
            entry=entry,
            is_written=True,
            idempotency_key=kept.idempotency_key,
        )


def _previous(current: CommittedState, prev_ccs: CompressedCognitiveState | None) -> CommittedState:
    """CCS_{t-1} with its bookkeeping from the journal, which holds `current`."""
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
