"""A conversation without models and stores: it echoes, keeps states, and fails when asked to."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime

from acc_ace.core.schemas.artifact import Erased
from acc_ace.errors import AccAceError, InputError, NotFoundError
from schemas.artifact import Artifact
from schemas.base import Authority, SessionKey, Tenant
from schemas.ccs import empty_ccs
from schemas.commit import (
    CcsDiff,
    ChangeKind,
    CommitKind,
    CommittedState,
    ConstraintPin,
    JournalEntry,
    RuleScope,
    ToolCheck,
)
from schemas.interaction import Attachment
from schemas.playbook import Playbook, StoredPlaybook
from schemas.reflection import Judgement
from schemas.report import (
    CONFIRMATION,
    Answer,
    AnswerChunk,
    FeedbackReport,
    ReportedCheck,
    ReportedQuestion,
    StageStarted,
    TokenUse,
    TurnDone,
    TurnEvent,
    TurnPaused,
    TurnReport,
    WaitingCall,
)

AT = datetime(2026, 1, 2, tzinfo=UTC)


class FakeRules:
    """The rules of one session, each of which a yes to `q-<its number>` lifts."""

    def __init__(self) -> None:
        self.pins: list[ConstraintPin] = []
        self.answered: list[tuple[str, bool]] = []

    async def state(self, key: SessionKey) -> CommittedState:
        return CommittedState(pins=list(self.pins))

    async def pin(self, key: SessionKey, text: str, scope: RuleScope) -> ConstraintPin:
        pin = ConstraintPin(
            id=f"c-{len(self.pins) + 1:04d}",
            text=text,
            authority=Authority.USER,
            origin_turn=0,
            quote=text,
            scope=scope,
        )
        self.pins.append(pin)
        return pin

    async def forget(self, key: SessionKey, rule_id: str) -> ConstraintPin:
        found = next((pin for pin in self.pins if pin.id == rule_id), None)
        if found is None:
            raise NotFoundError(f"no active rule has the id {rule_id}")
        self.pins.remove(found)
        return found

    async def check(self, key: SessionKey, rule_id: str, tool: str, does: str) -> ConstraintPin:
        found = next((pin for pin in self.pins if pin.id == rule_id), None)
        if found is None:
            raise NotFoundError(f"no active rule has the id {rule_id}")
        own = [ToolCheck(tool=tool, does=does)] if does else []
        changed = found.model_copy(update={"checks": own})
        self.pins[self.pins.index(found)] = changed
        return changed

    async def answer(self, key: SessionKey, question_id: str, *, yes: bool) -> CommittedState:
        self.answered.append((question_id, yes))
        await self.forget(key, question_id.replace("q-", "c-"))
        return await self.state(key)


class FakeTurnApi:
    """Answers 'echo: <input>'. An input that is a key of `errors` raises; 'hang' never ends.

    'pay A B' waits for a person's word on two payments; 'lift 1 2' opens questions about
    two rules.
    """

    def __init__(self, errors: Mapping[str, AccAceError] | None = None) -> None:
        self.errors = dict(errors or {})
        self.journal: dict[SessionKey, list[JournalEntry]] = {}
        self.documents: list[Artifact] = []
        self.said: list[tuple[str, Authority]] = []
        self.erased: list[Tenant] = []
        self.attached: list[list[Attachment]] = []
        self.rules = FakeRules()
        self.confirmed: list[dict[str, bool]] = []
        self.hanging = asyncio.Event()
        self.closed = False
        self.learning = False
        self.judged: list[tuple[int, Judgement]] = []

    async def checks(self, pins: Sequence[ConstraintPin]) -> Mapping[str, list[ReportedCheck]]:
        return {
            pin.id: [
                ReportedCheck(tool=each.tool, text=f"{each.tool}: {each.does}", does=each.does)
                for each in pin.checks
            ]
            for pin in pins
        }

    async def stream(
        self,
        key: SessionKey,
        text: str,
        *,
        authority: Authority = Authority.USER,
        attachments: Sequence[Attachment] = (),
        idempotency_key: str = "",
    ) -> AsyncIterator[TurnEvent]:
        self.attached.append(list(attachments))
        if not text:
            raise InputError("the input is empty")
        yield StageStarted(stage="recaller")
        if text in self.errors:
            raise self.errors[text]
        if text == "hang":
            self.hanging.set()
            await asyncio.Event().wait()
        self.said.append((text, authority))
        yield StageStarted(stage="generator")
        if text.startswith("pay "):
            yield TurnPaused(session=key.session, calls=[waiting(to) for to in text.split()[1:]])
            return
        answer = f"echo: {text}"
        yield AnswerChunk(text=answer[:3])
        yield AnswerChunk(text=answer[3:])
        yield Answer(text=answer, model="fake")
        state = self._commit(key, text)
        asked = text.split()[1:] if text.startswith("lift ") else []
        questions = [lifting(int(number), turn=state.turn) for number in asked]
        done = report(turn=state.turn, text=text, answer=answer)
        yield TurnDone(report=done.model_copy(update={"questions": questions}))

    async def confirm(
        self, key: SessionKey, answers: Mapping[str, bool]
    ) -> AsyncIterator[TurnEvent]:
        self.confirmed.append(dict(answers))
        yield Answer(text=f"confirmed: {sum(answers.values())}", model="fake")

    async def state(self, key: SessionKey) -> CommittedState | None:
        entries = self.journal.get(key)
        return entries[-1].state if entries else None

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        return self.journal.get(key, [])[::-1][:limit]

    async def undo(self, key: SessionKey) -> CommittedState:
        entries = self.journal.get(key)
        if not entries:
            raise NotFoundError("nothing to undo: the session has no turns")
        entries.pop()
        return entries[-1].state if entries else CommittedState()

    async def feedback(
        self, key: SessionKey, turn: int, judgement: Judgement, *, given_id: str = ""
    ) -> FeedbackReport:
        fresh = (turn, judgement) not in self.judged
        self.judged.append((turn, judgement))
        return FeedbackReport(
            id=given_id or "f",
            turn=turn,
            fresh=fresh,
            learned=True,
            deltas=[],
            playbook_version=0,
            warnings=[],
        )

    async def reset(self, key: SessionKey) -> None:
        self.journal.pop(key, None)

    async def remember(self, tenant: Tenant, documents: Sequence[Artifact]) -> None:
        self.documents.extend(documents)

    async def erase_artifacts(self, tenant: Tenant, ids: Sequence[str]) -> Erased:
        return Erased(removed=[*ids])

    async def erase_user(self, user: str, *, app: str | None = None) -> dict[str, dict[str, int]]:
        tenant = Tenant(app or "acc_ace", user)
        self.erased.append(tenant)
        return {tenant.app: {"journal": 3}}

    async def playbook(self) -> StoredPlaybook:
        playbook = Playbook().add_bullet("strategies", "Check [disk] first.").playbook
        return StoredPlaybook(version=1, digest="0" * 64, playbook=playbook)

    def start_learning(self) -> None:
        self.learning = True

    async def stop_learning(self, *, finish_s: float = 0.0) -> int:
        self.learning = False
        return 0

    async def close(self) -> None:
        self.closed = True

    def _commit(self, key: SessionKey, text: str) -> CommittedState:
        entries = self.journal.setdefault(key, [])
        number = len(entries) + 1
        ccs = empty_ccs().model_copy(update={"episodic_trace": text})
        state = CommittedState(version=number, turn=number, ccs=ccs)
        entries.append(
            JournalEntry(
                kind=CommitKind.COMMIT,
                state=state,
                diff=CcsDiff(),
                invocation_id=f"i-{number}",
                created_at=AT,
            )
        )
        return state


def lifting(number: int, *, turn: int) -> ReportedQuestion:
    """Whether to lift a rule."""
    return ReportedQuestion(
        id=f"q-{number:04d}",
        kind=ChangeKind.RELEASE,
        rule_id=f"c-{number:04d}",
        quote="It is over.",
        text="",
        before="No restarts.",
        asked_turn=turn,
    )


def waiting(name: str) -> WaitingCall:
    """A payment that asks a person."""
    args = {"toolConfirmation": {"hint": f"Pay {name}?"}}
    return WaitingCall(id=f"call-{name}", name=CONFIRMATION, args=args)


def report(*, turn: int = 1, text: str = "hello", answer: str = "echo: hello") -> TurnReport:
    """A report in which nothing happened but a call of 30 tokens in and 12 out."""
    return TurnReport(
        turn=turn,
        input=text,
        answer=answer,
        ccs=empty_ccs(),
        ccs_diff=CcsDiff(),
        constraints=[],
        recalled=[],
        qualified=[],
        bullet_ids=[],
        deltas=[],
        playbook_version=0,
        tokens={"generator": TokenUse(input=30, output=12, calls=1)},
        ms={"generator": 1.0},
        model={"generator": "fake"},
        warnings=[],
        ccs_tokens=412,
        ccs_budget=1_024,
    )
