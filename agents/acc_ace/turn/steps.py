"""The ports of a turn over the stores, gates and models of the process.

Qualification applies rules first, and the model judges only the rest; the CCM's reply passes the
commit gate before it becomes CCS_t.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.gates.commands import is_acknowledgement
from acc_ace.core.gates.commit_gate import GateResult, commit
from acc_ace.core.gates.consent_notes import invites_reply, sole_question
from acc_ace.core.gates.contradiction import screened_input
from acc_ace.core.gates.proposals import proposals, read_proposals
from acc_ace.core.gates.qualification_gate import conclude, decide_by_score, screen
from acc_ace.core.gates.references import Evidence, carried
from acc_ace.core.gates.screening import quotation
from acc_ace.core.schemas.artifact import (
    Artifact,
    ArtifactKind,
    Recall,
    RecalledArtifact,
    RecallQuery,
)
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState, CompressorReply, JournalEntry
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import Qualification, QualificationReason, RelevanceBatch
from acc_ace.core.text.prompt import Lines
from acc_ace.memory.excerpts import quotations
from acc_ace.memory.turn_artifacts import turn_artifact_id
from acc_ace.turn.algorithm import DecisionPort, Ports
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.structured_call import (
    Completion,
    StructuredResult,
    artifact_values,
    input_value,
    load_prompts,
    parser,
    state_value,
    structured_call,
)
from acc_ace.turn.turn_commit import prepared_entry
from acc_ace.turn.turn_record import TurnRecord

_QUOTED = 3
"""Quotations of full length that the references have room for."""


def recall_query(
    key: SessionKey,
    turn_input: TurnInput,
    previous: CommittedState,
    limits: Limits,
    *,
    at: datetime,
) -> RecallQuery:
    """The query: x_t at time `at`, and the entities, goal, open questions and gist of CCS_{t-1}."""
    return RecallQuery(
        key=key,
        text=turn_input.text,
        state_terms=state_terms(previous),
        limit=limits.recall_k,
        max_tokens=limits.recall_tokens,
        excerpt_tokens=limits.artifact_tokens,
        asked_at=at,
    )


def state_terms(previous: CommittedState) -> list[str]:
    """Entities, goal, open questions and gist of CCS_{t-1}: what x_t may leave unsaid."""
    ccs = previous.ccs
    terms = [
        *ccs.focal_entities,
        ccs.goal_orientation,
        ccs.uncertainty_signal,
        ccs.semantic_gist,
    ]
    return [term for term in terms if term]


class TurnSteps:
    """Recall, qualification, compression and evidence of one turn; costs go to its record."""

    def __init__(
        self,
        container: Container,
        record: TurnRecord,
        completions: Mapping[Role, Completion],
        *,
        invocation_id: str,
    ) -> None:
        """`completions` has the models of "qualifier" and "compressor"."""
        self._container, self._record = container, record
        self._completions, self._invocation_id = completions, invocation_id
        self._limits, self._prompts = container.settings.limits, load_prompts()

    def ports(self, decision: DecisionPort | None = None) -> Ports:
        """All ports of the turn; without a `decision` it pauses, and the caller acts."""
        return Ports(self, self, self, decision or _Caller(), self)

    async def recall(self, x_t: TurnInput, previous: CommittedState) -> Recall:
        """At most k candidates, preceded by the unsettled calls of turns that died.

        Raises StoreError when the store cannot be read.
        """
        with self._record.stage("recaller"):
            if self._is_acknowledged(x_t, previous):
                return Recall()
            at = self._container.local_now()
            query = recall_query(self._record.key, x_t, previous, self._limits, at=at)
            recalled = await self._container.artifacts.recall(query)
            self._record.warn(*recalled.warnings)
            lost = [
                RecalledArtifact(artifact=artifact, score=1.0, why=["outcome unknown"])
                for artifact in self._record.lost_calls
            ]
            unseen = await self._unseen(previous, recalled)
            candidates = [*lost, *unseen, *recalled.candidates]
            return recalled.model_copy(update={"candidates": candidates})

    async def _unseen(self, previous: CommittedState, recalled: Recall) -> list[RecalledArtifact]:
        """The turn before an acknowledgement, whose answer no CCM has seen, unless recalled."""
        if not previous.unseen_turn:
            return []
        artifact_id = turn_artifact_id(self._record.key, previous.unseen_turn)
        if any(each.artifact.artifact_id == artifact_id for each in recalled.candidates):
            return []
        found = await self._container.artifacts.get(self._record.key.tenant, artifact_id)
        return [RecalledArtifact(artifact=found, score=1.0, why=["not seen yet"])] if found else []

    async def qualify(
        self, recalled: Recall, x_t: TurnInput, previous: CommittedState
    ) -> Qualification:
        """Screen by rule, let the model judge the rest in one call, conclude.

        If the model is down, unjudged candidates are left out.
        """
        with self._record.stage("qualifier") as use:
            screening = screen(
                recalled,
                key=self._record.key,
                state=previous,
                now=self._container.clock.now(),
                limits=self._limits,
                mandatory=self._mandatory(previous),
            )
            scores = {each.artifact.artifact_id: each.score for each in recalled.candidates}
            decided = decide_by_score(screening.to_judge, scores)
            known = {decision.artifact_id for decision in decided}
            doubtful = [each for each in screening.to_judge if each.artifact_id not in known]
            asked: StructuredResult[RelevanceBatch] = StructuredResult(value=None)
            if doubtful:
                inputs = {
                    "previous_state": self._before(previous),
                    "candidates": self._shown(doubtful, previous),
                    "current_input": input_value(screened_input(x_t, previous.pins)),
                }
                asked = await structured_call(
                    self._completions["qualifier"],
                    self._prompts.qualifier,
                    inputs,
                    parser(RelevanceBatch),
                    repairs=self._limits.repairs,
                )
            else:
                self._record.saved["qualifier"] = "decided by rules and scores"
            self._record.count(use, asked)
            judged = asked.value.decisions if asked.value else []
            decisions = RelevanceBatch(decisions=[*decided, *judged])
            return conclude(screening, decisions, limits=self._limits)

    def _mandatory(self, previous: CommittedState) -> frozenset[str]:
        """Ids that are relevant whatever x_t asks: the driver's, lost calls, the unseen turn."""
        lost = {artifact.artifact_id for artifact in self._record.lost_calls}
        own = self._record.needed
        return frozenset({*own, *lost, turn_artifact_id(self._record.key, previous.unseen_turn)})

    async def compress(
        self, qualified: Qualification, x_t: TurnInput, previous: CommittedState
    ) -> JournalEntry:
        """Call the CCM for CCS_t and pass its reply through the commit gate.

        An acknowledgement carries the state on without the CCM. Raises ConstraintBudgetError when
        the constraints alone are over budget.
        """
        with self._record.stage("compressor") as use:
            if self._is_acknowledged(x_t, previous):
                self._record.saved["compressor"] = "acknowledgement"
                return self._carried_on(x_t, previous)
            inputs = {
                "previous_state": self._before(previous),
                "artifacts": self._shown(qualified.qualified, previous),
                "current_input": input_value(screened_input(x_t, previous.pins)),
            }
            asked = await structured_call(
                self._completions["compressor"],
                self._prompts.compressor,
                inputs,
                partial(read_proposals, x_t=x_t, inputs=inputs),
                repairs=self._limits.repairs,
            )
            self._record.count(use, asked)
            # The language pass takes about 15 ms per 1,000 characters; its rules compile once.
            gate = await asyncio.to_thread(self._gate, qualified, x_t, previous, asked.value)
            return self._entry(gate)

    def _carried_on(self, x_t: TurnInput, previous: CommittedState) -> JournalEntry:
        """CCS_{t-1} as CCS_t, through the gate like any reply."""
        gate = commit(previous, previous.ccs, x_t, limits=self._limits)
        unseen = previous.unseen_turn or previous.turn
        state = gate.state.model_copy(update={"unseen_turn": unseen})
        return self._entry(replace(gate, state=state))

    def _entry(self, gate: GateResult) -> JournalEntry:
        self._record.warn(*gate.warnings)
        self._record.notes = gate.notes
        released = [*self._record.dropped, *gate.diff.constraints_released]
        diff = gate.diff.model_copy(update={"constraints_released": released})
        return prepared_entry(
            replace(gate, diff=diff),
            invocation_id=self._invocation_id,
            at=self._container.clock.now(),
            warnings=self._record.warnings,
        )

    def _is_acknowledged(self, x_t: TurnInput, previous: CommittedState) -> bool:
        """Whether x_t only thanks or confirms, and nothing waits that it could answer."""
        last = self._record.previous_turn
        return (
            is_acknowledgement(x_t.text)
            and x_t.authority.may_rule
            and not x_t.attachments
            and not previous.questions
            and not self._record.lost_calls
            and last is not None
            and last.decision is not None
            and not invites_reply(last.decision.final_answer)
        )

    def _gate(
        self,
        qualified: Qualification,
        x_t: TurnInput,
        previous: CommittedState,
        reply: CompressorReply | None,
    ) -> GateResult:
        return commit(
            previous,
            reply.onto(previous.ccs) if reply else None,
            x_t,
            evidence=self._evidence(qualified, x_t, previous),
            limits=self._limits,
            changes=proposals(reply, x_t, previous),
            unread=reply.unreadable if reply else (),
            sole_question=sole_question(previous, self._last_answer()),
        )

    def _before(self, previous: CommittedState) -> Lines:
        """CCS_{t-1} as a stage is shown it: what it quoted was for its own turn."""
        references = carried(previous.ccs.retrieved_artifacts, self._limits)
        ccs = previous.ccs.model_copy(update={"retrieved_artifacts": references})
        return state_value(previous.model_copy(update={"ccs": ccs}))

    def _shown(
        self, artifacts: Sequence[Artifact], previous: CommittedState
    ) -> list[dict[str, object]]:
        """Artifacts for the models, screened by CCS_{t-1}'s constraints (x_t's are not known yet).

        All passed the gate except the session's own turns, in which answers may contradict.
        """
        limit = self._limits.artifact_tokens
        quoted = [
            quotation(item, previous.pins, max_tokens=limit)
            if item.kind is ArtifactKind.TURN
            else item
            for item in artifacts
        ]
        return artifact_values(quoted, self._limits)

    def _evidence(
        self, qualified: Qualification, x_t: TurnInput, previous: CommittedState
    ) -> Evidence:
        """Evidence for grounding and quoting; screened again by the constraints that x_t sets."""
        session = self._record.key.session
        own = (
            a for a in qualified.qualified if a.kind is ArtifactKind.TURN and a.session == session
        )
        needed = frozenset(
            verdict.artifact_id
            for verdict in qualified.verdicts
            if verdict.ok and verdict.reason is not QualificationReason.PREVIOUS_TURN
        )
        return Evidence(
            {a.artifact_id: a.content for a in qualified.qualified},
            frozenset(a.artifact_id for a in own),
            quotations(
                qualified.qualified,
                x_t.text,
                state_terms(previous),
                needed=needed,
                max_tokens=self._limits.retrieved_artifacts_tokens // _QUOTED,
            ),
        )

    def _last_answer(self) -> str:
        """The agent's last answer."""
        last = self._record.previous_turn
        return last.decision.final_answer if last and last.decision else ""

    async def keep(
        self, x_t: TurnInput, state: CommittedState, decision: GeneratorOutput | None
    ) -> None:
        """Commit the turn in one transaction. Raises ConflictError or StoreError."""
        del x_t, state  # The record has them, and all else that the commit needs.
        await TurnLifecycle(self._container).commit(self._record, decision, prompt_hashes={})


class _Caller:
    """The caller decides outside: the turn is stored as paused until its answer is recorded."""

    async def decide(self, state: CommittedState, x_t: TurnInput) -> None:
        """No answer yet."""
        del state, x_t
