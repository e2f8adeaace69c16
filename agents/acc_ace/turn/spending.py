"""What turns cost: price what models used, keep it, and refuse turns above the day's ceiling."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import uuid4

from acc_ace.clock import Clock
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.cost import (
    REPLAY,
    CostOfTurn,
    DaySpending,
    ModelUse,
    PriceTable,
    SessionCost,
    StageCost,
    Totals,
    Used,
)
from acc_ace.core.schemas.interaction import Interaction
from acc_ace.core.schemas.report import Money, TokenUse, TurnCost
from acc_ace.core.text.prompt import Prompt
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import ConfigError, NotFoundError, SpendingCeilingError
from acc_ace.turn.observer import TurnObserver
from acc_ace.turn.ports import SpendingStore
from acc_ace.turn.structured_call import Completion, Reply
from acc_ace.turn.turn_record import TurnStart
from acc_ace.unit_of_work import Write

CACHE_MINIMUM: Final = 1_024
"""Tokens that a prefix needs to be cached; providers set 1,024 or more."""

STAGES: Final = ("qualifier", "compressor", "generator", "reflector", "curator")
"""Stages that ask models, in their order; a turn may go without any of them but the Generator."""


class Spending:
    """Prices, keeps and bounds what the model calls of one process cost."""

    def __init__(
        self, store: SpendingStore, prices: PriceTable, clock: Clock, *, ceiling: float | None
    ) -> None:
        """`ceiling` is in US dollars per user and day (UTC); None = no ceiling."""
        self.store, self.prices = store, prices
        self._clock, self._ceiling = clock, ceiling

    def require_prices(self, models: Iterable[str]) -> None:
        """Raise ConfigError where a ceiling is set and a model has no price to count by."""
        unknown = sorted({model for model in models if self.prices.price(model) is None})
        if self._ceiling is not None and unknown:
            raise ConfigError(
                f"ACC_ACE_MAX_COST={self._ceiling:g} cannot be enforced: the price of "
                f"{', '.join(map(repr, unknown))} is unknown; add it to a price file and name that "
                "in ACC_ACE_PRICES, use another model, or unset ACC_ACE_MAX_COST"
            )

    async def require_room(self, tenant: Tenant) -> None:
        """Raise SpendingCeilingError when a user has spent the day's ceiling; or StoreError."""
        if self._ceiling is None:
            return
        today = await self.today(tenant)
        if today.spent.usd is not None and today.spent.usd >= self._ceiling:
            error = SpendingCeilingError(
                f"user '{tenant.user}' has spent {today.spent} today, the ceiling is "
                f"${self._ceiling:g} a day (ACC_ACE_MAX_COST); turns go on at "
                f"{today.resets_at:%Y-%m-%d %H:%M} UTC"
            )
            error.wait_s = (today.resets_at - self._clock.now()).total_seconds()
            raise error

    async def today(self, tenant: Tenant) -> DaySpending:
        """What a user has spent today (UTC). Raises StoreError."""
        day = self._day()
        return DaySpending(
            day=day,
            spent=(await self.store.of_day(tenant, day)).spent,
            ceiling_usd=self._ceiling,
            resets_at=datetime.combine(day + timedelta(days=1), time(), UTC),
        )

    async def note(self, key: SessionKey, turn: int, used: Used) -> None:
        """Keep what work beside the turns has used, such as later learning. Raises StoreError."""
        if uses := self.prices.priced(uuid4().hex, turn, used):
            await self.store.add(key, uses, day=self._day())

    def write(self, key: SessionKey, uses: Sequence[ModelUse]) -> Write:
        """Keep what a run used so far, as a part of a unit of work."""
        return self.store.use_write(key, uses, day=self._day())

    async def session(self, key: SessionKey, *, limit: int = 50, before: int) -> SessionCost:
        """What a session cost, by stage and by turn, turns before `before`.

        Raises NotFoundError for a session that asked no model, or StoreError.
        """
        stages = await self.store.stages(key)
        if not stages:
            raise NotFoundError(f"no model call of a session '{key.session}' of this user is kept")
        totals = await self.store.of_session(key)
        turns = await self.turns(key, limit=limit, before=before)
        return SessionCost(
            session=key.session,
            cost=totals.spent,
            replay=totals.replay,
            prices_as_of=self.prices.as_of,
            stages=_with_saved(stages),
            replayed=sum((each.tokens for each in stages if each.stage == REPLAY), TokenUse()),
            crossing=await self.store.crossing(key),
            turns=turns,
            next_before=turns[-1].turn if len(turns) == limit else None,
            today=await self.today(key.tenant),
        )

    async def turns(self, key: SessionKey, *, limit: int, before: int) -> list[CostOfTurn]:
        """What the newest `limit` turns before one cost, newest first. Raises StoreError."""
        return _by_turn(await self.store.uses(key, turns=limit, before=before))

    def _day(self) -> date:
        return self._clock.now().astimezone(UTC).date()


def turn_cost(uses: Sequence[ModelUse], before: Totals) -> TurnCost:
    """The cost of a turn whose session had cost `before`."""
    own = Totals.of(uses)
    total = before + own
    return TurnCost(
        turn=own.spent,
        session=total.spent,
        replay=own.replay,
        session_replay=total.replay,
        unpriced=sorted({use.model for use in uses if use.nano is None}),
    )


def beside_replay(start: TurnStart, observer: TurnObserver, turn: Interaction) -> Interaction:
    """An answered turn with the size of the transcript, from which replay's cost is counted."""
    last, session = start.previous_turn, start.session
    is_older = last is None or (session is not None and last.turn <= session.history_from)
    before = 0 if last is None or is_older else last.transcript_tokens
    generator = observer.stages.get("generator")
    thinking = generator.tokens.thinking if generator else 0
    observer.replayed = replayed(turn, before=before, thinking=thinking)
    size = transcript_tokens(turn, before=before)
    return turn.model_copy(update={"transcript_tokens": size})


def replayed(turn: Interaction, *, before: int, thinking: int) -> TokenUse:
    """What replaying the transcript would have used in place of a turn, at least.

    `before` are the tokens of the transcript so far. Instruction, playbook and tool declarations,
    which a replaying agent sends too, are not counted; a prefix long enough counts as cached.
    """
    own_tokens, steps = said_tokens(turn), _tool_steps(turn)
    calls, tools = len(steps) + 1, sum(steps)
    again = before + own_tokens
    answer = estimate_tokens(turn.decision.final_answer) if turn.decision else 0
    return TokenUse(
        # Each tool step is sent with every later call: half of the calls on average.
        input=calls * again + tools * calls // 2,
        cached=_cachable(before) + len(steps) * _cachable(again),
        output=answer + sum(estimate_tokens(str(call.args)) for call in turn.tool_calls),
        thinking=thinking,
        calls=calls,
    )


def said_tokens(turn: Interaction) -> int:
    """Tokens of x_t with its attachments."""
    texts = (turn.input.text, *(given.text for given in turn.input.attachments))
    return sum(map(estimate_tokens, texts))


def transcript_tokens(turn: Interaction, *, before: int) -> int:
    """Tokens of the transcript once a turn is part of it."""
    answer = estimate_tokens(turn.decision.final_answer) if turn.decision else 0
    return before + said_tokens(turn) + sum(_tool_steps(turn)) + answer


def _tool_steps(turn: Interaction) -> list[int]:
    """Tokens of the tool calls and results of each reply that asked for some."""
    results = {result.tool_call_id: result.result for result in turn.tool_results}
    steps: dict[int, int] = {}
    for call in turn.tool_calls:
        text = f"{call.name}{call.args}{results.get(call.id, '')}"
        steps[call.step] = steps.get(call.step, 0) + estimate_tokens(text)
    return list(steps.values())


def _cachable(tokens: int) -> int:
    return tokens if tokens >= CACHE_MINIMUM else 0


def _by_turn(uses: Sequence[ModelUse]) -> list[CostOfTurn]:
    """What each turn used in all, in the order given."""
    by_turn: dict[int, list[ModelUse]] = {}
    for use in uses:
        by_turn.setdefault(use.turn, []).append(use)
    return [
        CostOfTurn(
            turn=turn,
            tokens=_tokens(own, of_replay=False),
            cost=Totals.of(own).spent,
            replay=Totals.of(own).replay,
            replayed=_tokens(own, of_replay=True),
        )
        for turn, own in by_turn.items()
    ]


def _tokens(uses: Sequence[ModelUse], *, of_replay: bool) -> TokenUse:
    return sum((use.tokens for use in uses if (use.stage == REPLAY) is of_replay), TokenUse())


def _with_saved(stages: Sequence[StageCost]) -> list[StageCost]:
    """Stages in their order, each once with the answered turns in which it asked no model."""
    answered = sum(each.runs for each in stages if each.stage == REPLAY)
    others = sorted({each.stage for each in stages} - {*STAGES, REPLAY})
    shown: list[StageCost] = []
    for stage in (*STAGES, *others):
        own = [each for each in stages if each.stage == stage] or [
            StageCost(stage=stage, model="", tokens=TokenUse(), cost=Money())
        ]
        calls = sum(each.runs for each in own)
        saved = max(answered - calls, 0) if stage in STAGES else 0
        shown += [own[0].model_copy(update={"saved": saved}), *own[1:]]
    return shown


class Metered:
    """A Completion that keeps count of the tokens of its replies, by model."""

    def __init__(self, inner: Completion) -> None:
        self._inner = inner
        self.used: dict[str, TokenUse] = {}

    def take(self) -> dict[str, TokenUse]:
        """What was counted since the last time."""
        taken = dict(self.used)
        self.used.clear()
        return taken

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """One call of the inner completion. Raises ModelError."""
        reply = await self._inner.complete(prompt, user_text)
        self.used[reply.model] = self.used.get(reply.model, TokenUse()) + reply.use
        return reply
