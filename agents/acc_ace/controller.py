"""ACC for any agent loop: Algorithm 1 without ADK agents, runner or session.

    controller = AccController.from_settings(session="incident-42")
    ccs = await controller.update_state("db-01 is down. No restarts in business hours.", None)
    answer = my_agent(system_prompt, ccs, user_text)      # never a transcript
    await controller.record(answer)                       # evidence for the next recall
    await controller.close()                              # when the conversation is over

`run_turns` runs whole turns with an agent that decides. Code without an event loop calls
`update_state_sync`, `record_sync` and `close_sync`. The steps are those of the pipeline, over the
same gates, stores and prompts.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from acc_ace.adk.answer_feedback import FeedbackLearner
from acc_ace.adk.structured_agent import Models, direct_completions
from acc_ace.config import Role, load_settings
from acc_ace.container import Container
from acc_ace.core.gates.constraints import ConstraintSet
from acc_ace.core.schemas.base import OWN_APP, Authority, SessionKey
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CommittedState, GoalPin, JournalEntry, Release
from acc_ace.core.schemas.interaction import GeneratorOutput, Interaction, ToolResult, TurnInput
from acc_ace.core.schemas.reflection import Feedback
from acc_ace.core.schemas.report import FeedbackReport
from acc_ace.core.text.arguments import checked_entries
from acc_ace.core.text.input_checks import check_key, check_request_id, take_input
from acc_ace.errors import ConflictError, InputError, NotFoundError
from acc_ace.turn.algorithm import DecisionPort, Turn
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.reading import Asked
from acc_ace.turn.session_changes import ancestry
from acc_ace.turn.turn_record import TurnRecord, TurnStart, require

_ROLES: Final[tuple[Role, ...]] = ("qualifier", "compressor")

DecisionOf = Callable[[TurnRecord], DecisionPort]
"""Makes the decision of one turn from its record: what was qualified, the playbook, the costs."""


@checked_entries
class AccController:
    """Updates the state of one session, turn by turn."""

    def __init__(
        self,
        container: Container,
        *,
        session: str,
        user: str = "user",
        app: str = OWN_APP,
        models: Models | None = None,
    ) -> None:
        settings, own = container.settings, models or {}
        self._container = container
        self._key = SessionKey(app, user, session)
        check_key(self._key)
        self._models = container.parts.build_models(_ROLES, settings, own)
        container.spending.require_prices(container.parts.priced_names(self._models.values()))
        self._completions = direct_completions(self._models, settings)
        self._lifecycle = TurnLifecycle(container)
        self._open: TurnRecord | None = None
        self._chosen = own
        self._feedback: FeedbackLearner | None = None

    @classmethod
    def from_settings(cls, *, session: str, user: str = "user") -> "AccController":
        """A controller from the environment; raises ConfigError or StoreError."""
        # The stores and models are imported when they are built.
        from acc_ace.bootstrap import build_container  # noqa: PLC0415

        return cls(build_container(load_settings()), session=session, user=user)

    @property
    def last_commit(self) -> JournalEntry | None:
        """What the last update changed: diff, pins, warnings."""
        return self._open.entry if self._open else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines to show below the answer: rules added, lifted and changed, open questions."""
        return self._open.notes if self._open else ()

    async def update_state(
        self,
        current_input: str | TurnInput,
        prev_ccs: CompressedCognitiveState | None,
        *,
        idempotency_key: str = "",
    ) -> CompressedCognitiveState:
        """x_t and CCS_{t-1} become CCS_t: recall, qualify, compress, commit.

        `prev_ccs` is what the last call gave back, edited or not; with None the session goes on
        with the state it has. Rules that an edited state leaves out are in the diff as released;
        those of system authority stay. A tool's or environment's result is a TurnInput with the
        authority TOOL. The `judgement` of a TurnInput says what the answer should be, or earns: no
        agent sees it, `record` learns from it. An update that was committed under the same
        `idempotency_key` gives back its state and runs nothing. Raises InputError, CommitRejected,
        ConflictError or StoreError; a model that fails keeps CCS_{t-1} and marks the uncertainty.
        An update cancelled before its commit leaves CCS_{t-1}.
        """
        self._open = await self._turn(current_input, prev_ccs, None, idempotency_key)
        return self._open.state.ccs

    async def run_turns(
        self,
        inputs: Iterable[str | TurnInput],
        decision: DecisionPort | DecisionOf,
        *,
        prev_ccs: CompressedCognitiveState | None = None,
    ) -> list[Turn]:
        """Run a whole turn for each input: `decision` acts, and each turn is committed once.

        A function of the turn's record makes each turn's decision: it may read what was qualified
        and the playbook, count its model calls (`record.observer.stage("generator")`), and leave
        `record.artifacts`, which are committed with the turn. The function itself runs before the
        recall, and may set `record.needed`.
        Raises what `update_state` and `decision` raise; earlier turns are kept, and of the failed
        one only evidence. A decision of None leaves its turn open for `record`.
        """
        turns: list[Turn] = []
        for current_input in inputs:
            self._open = await self._turn(current_input, prev_ccs, decision)
            turns.append(_turn_of(self._open))
            prev_ccs = self._open.state.ccs
        return turns

    async def _turn(
        self,
        current_input: str | TurnInput,
        prev_ccs: CompressedCognitiveState | None,
        decision: DecisionPort | DecisionOf | None,
        idempotency_key: str = "",
    ) -> TurnRecord:
        check_request_id(idempotency_key)
        turn_input = _checked_input(current_input, self._container)
        async with self._lifecycle.hold(self._key):
            earlier = await self._lifecycle.repeated(self._key, idempotency_key, turn_input)
            if earlier is not None:
                return await self._recorded_turn(earlier)
            await self._container.spending.require_room(self._key.tenant)
            record = TurnRecord(TurnStart(self._key, idempotency_key=idempotency_key))
            await self._lifecycle.open(
                record,
                turn_input,
                feedback=self._judged(current_input),
                edit=partial(_edited, prev_ccs=prev_ccs),
            )
            try:
                decides = decision(record) if callable(decision) else decision
                # A caller that acts itself: no guard of ours stands before what it does.
                await self._lifecycle.prepare(record, self._completions, reason=Asked.EVERY)
                record.place_notes(apart=True)  # The caller shows them.
                output = await decides.decide(record.state, turn_input) if decides else None
                await self._lifecycle.commit(record, output, prompt_hashes={})
            finally:
                await self._lifecycle.fail(record)
        if record.decision is not None:
            await self._learn(record)
        return record

    async def _learn(self, record: TurnRecord) -> FeedbackReport | None:
        """Learn from what came with an answered turn, now or later, as the settings say."""
        report: FeedbackReport | None = None
        for given in record.start.feedback:
            report = await self._learner().take(self._key, record.state.turn, given)
            record.observer.warn(*report.warnings)
            # So that the same answer, recorded once more, does not teach again.
            record.take_feedback(given.model_copy(update={"learned": report.learned}))
        return report

    def _judged(self, given: str | TurnInput) -> tuple[Feedback, ...]:
        judged = None if isinstance(given, str) else given.judgement
        return (judged.sent_with_turn(self._container.clock.now()),) if judged else ()

    def _learner(self) -> FeedbackLearner:
        """Its models are opened when there is something to learn; most controllers never have."""
        if self._feedback is None:
            self._feedback = FeedbackLearner(self._container, models=self._chosen)
        return self._feedback

    def update_state_sync(
        self,
        current_input: str | TurnInput,
        prev_ccs: CompressedCognitiveState | None,
    ) -> CompressedCognitiveState:
        """`update_state` for callers without an event loop; raises RuntimeError inside one."""
        return asyncio.run(self.update_state(current_input, prev_ccs))

    async def close(self) -> None:
        """Close the stores and the models' connections."""
        await self.close_models()
        await self._container.close()

    async def close_models(self) -> None:
        """Close the models' connections, where others use the container too."""
        await self._container.parts.close_models(self._models.values())
        if self._feedback is not None:
            await self._feedback.close()

    def close_sync(self) -> None:
        """`close` for callers without an event loop; raises RuntimeError inside one."""
        asyncio.run(self.close())

    async def record(
        self, answer: str, *, tool_results: tuple[ToolResult, ...] = ()
    ) -> FeedbackReport | None:
        """Keep what your agent answered as evidence, so that the next turn can recall it.

        Gives back what was learnt from the judgement that came with the turn; None without one.
        Raises InputError when there is no updated turn to answer, ConflictError when that was
        undone, deleted or erased meanwhile, SessionBusyError or StoreError.
        """
        record = self._open
        if record is None:
            raise InputError("there is no turn to record: call update_state first")
        entry = require(record.entry, "entry", "controller")
        async with self._lifecycle.hold(self._key):
            if not await self._is_current(entry, record):
                raise ConflictError(
                    f"session '{self._key.session}' was deleted, or its turn {entry.state.turn} "
                    "undone, before the answer was recorded, so it was not kept; call "
                    "update_state again to continue"
                )
            record.tools.results[:] = tool_results
            output = GeneratorOutput(final_answer=answer)
            await self._lifecycle.commit(record, output, prompt_hashes={})
        return await self._learn(record)

    def record_sync(
        self, answer: str, *, tool_results: tuple[ToolResult, ...] = ()
    ) -> FeedbackReport | None:
        """`record` for callers without an event loop; raises RuntimeError inside one."""
        return asyncio.run(self.record(answer, tool_results=tool_results))

    async def _is_current(self, entry: JournalEntry, record: TurnRecord) -> bool:
        """Whether the turn leads to the current state of the session that it started in."""
        known, opened = await self._container.directory.find(self._key), record.start.session
        head = await self._container.journal.head(self._key)
        if head is None or known is None or opened is None or known.created_at != opened.created_at:
            return False
        version = entry.state.version
        async for earlier in ancestry(self._container.journal, self._key, head.state.version):
            if earlier.state.version <= version:
                return earlier.state.version == version
        return False

    async def _recorded_turn(self, turn: Interaction) -> TurnRecord:
        """The record of a turn committed earlier, so that its answer can be recorded."""
        entry = await self._container.journal.get(self._key, turn.ccs_version)
        if entry is None:
            raise NotFoundError(f"session '{self._key.session}' has no version {turn.ccs_version}")
        start = TurnStart(
            self._key,
            turn_input=turn.input,
            invocation_id=turn.invocation_id,
            evidence_id=turn.invocation_id,
            session=await self._container.directory.find(self._key),
            feedback=turn.feedback,
            idempotency_key=turn.idempotency_key,
        )
        return TurnRecord(start, entry=entry, is_written=True)


def _turn_of(record: TurnRecord) -> Turn:
    start = record.start
    return Turn(
        start.x_t,
        start.previous,
        record.recalled,
        record.qualification,
        require(record.entry, "entry", "controller"),
        record.decision,
    )


def _edited(start: TurnStart, *, prev_ccs: CompressedCognitiveState | None) -> TurnStart:
    """The start from the caller's state, under a name of the controller's own."""
    name = f"turn-{start.previous.version + 1}"
    previous, dropped = _previous(start.previous, prev_ccs)
    return replace(
        start, invocation_id=name, evidence_id=name, previous=previous, dropped=tuple(dropped)
    )


def _previous(
    current: CommittedState, prev_ccs: CompressedCognitiveState | None
) -> tuple[CommittedState, list[Release]]:
    """CCS_{t-1} with its bookkeeping from `current`, the state in the journal.

    Also returns the rules that an edited state leaves out; those of system authority stay.
    """
    if prev_ccs is None or current.ccs == prev_ccs:
        return current, []
    fixed = [pin for pin in current.pins if pin.authority is Authority.SYSTEM]
    texts = {*prev_ccs.constraints, *(pin.text for pin in fixed)}
    edited = "the state that the caller gave as prev_ccs"
    dropped = [
        Release(id=pin.id, text=pin.text, quote=edited)
        for pin in current.pins
        if pin.text not in texts
    ]
    return _adopt(prev_ccs, current), dropped


def _checked_input(current_input: str | TurnInput, container: Container) -> TurnInput:
    if isinstance(current_input, str):
        current_input = TurnInput(text=current_input)
    return take_input(
        current_input.text,
        current_input.authority,
        container.settings.limits,
        attachments=current_input.attachments,
    )


def _adopt(ccs: CompressedCognitiveState, current: CommittedState) -> CommittedState:
    """The caller's edited state: its constraints are pinned verbatim."""
    rules = ConstraintSet.of(current, turn=current.turn)
    wanted = set(ccs.constraints)
    rules.pins = [
        pin for pin in rules.pins if pin.text in wanted or pin.authority is Authority.SYSTEM
    ]
    for text in ccs.constraints:
        rules.pin(text, text, Authority.USER)
    goal = ccs.goal_orientation
    goal_pin = current.goal_pin
    if goal != current.ccs.goal_orientation:
        pin = GoalPin(text=goal, authority=Authority.USER, origin_turn=current.turn, quote=goal)
        goal_pin = pin if goal else None
    constraints = [pin.text for pin in rules.pins]
    return current.model_copy(
        update={
            "ccs": ccs.model_copy(update={"constraints": constraints}),
            "pins": rules.pins,
            "goal_pin": goal_pin,
            "next_pin": rules.next_pin,
        }
    )
