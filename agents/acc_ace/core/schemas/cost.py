"""Money: the price table, what model calls used and cost, and a session's cost by stage and turn.

Money is counted in billionths of a US dollar (`nano`), so that sums are exact; reports show
dollars. An unknown price is None and never 0.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Final

from pydantic import ConfigDict, Field

from acc_ace.core.schemas.base import Value
from acc_ace.core.schemas.report import Money, TokenUse

NEWEST: Final = 2**31 - 1
"""Above every turn."""

REPLAY: Final = "replay"
"""The stage under which the cost of replaying the transcript is kept; it is no part of any sum."""


Used = Mapping[str, Mapping[str, TokenUse]]
"""Tokens by stage and model."""


class ModelPrice(Value):
    """Prices of one model, in US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=False)

    input: float = Field(ge=0, description="Prompt tokens.")
    cached_input: float | None = Field(default=None, ge=0, description="Cached; absent: as input.")
    output: float = Field(ge=0, description="Reply tokens, thoughts included.")

    def nano(self, use: TokenUse) -> int:
        """The cost of a use in billionths of a dollar, but for the tokens that are `covered`."""
        cached = self.input if self.cached_input is None else self.cached_input
        input_paid, cached_paid, output_paid = use.covered
        cached_due = use.cached - cached_paid
        # Dollars per million tokens are thousands of billionths per token.
        return round(
            1_000
            * (
                (use.input - input_paid - cached_due) * self.input
                + cached_due * cached
                + (use.output + use.thinking - output_paid) * self.output
            )
        )


class PriceTable(Value):
    """List prices of a date. A name that ends in `*` stands for all models that start so."""

    model_config = ConfigDict(extra="forbid", defer_build=False)

    as_of: date = Field(description="Date of the prices.")
    until: date | None = Field(default=None, description="Last day before some are to change.")
    models: dict[str, ModelPrice] = Field(description="Prices by model name.")

    def price(self, model: str) -> ModelPrice | None:
        """The price of a model, by its own name or the longest pattern; None if unknown."""
        # Vertex AI and the Gemini API also name a model by its path.
        name = model.rpartition("models/")[2]
        if name in self.models:
            return self.models[name]
        fitting = [key for key in self.models if key[-1:] == "*" and name.startswith(key[:-1])]
        return self.models[max(fitting, key=len)] if fitting else None

    def priced(self, run: str, turn: int, used: Used) -> "list[ModelUse]":
        """What a run used, with its prices; a call without tokens costs nothing."""
        return [
            ModelUse(
                run=run,
                turn=turn,
                stage=stage,
                model=model,
                tokens=use,
                nano=self._nano(model, use),
            )
            for stage, by_model in used.items()
            for model, use in by_model.items()
            if use.calls or use.total
        ]

    def _nano(self, model: str, use: TokenUse) -> int | None:
        if use.total == use.covered[0] + use.covered[2]:
            return use.billed
        price = self.price(model)
        return None if price is None else use.billed + price.nano(use)


class ModelUse(Value):
    """What one stage of one run of a turn used of one model."""

    run: str = Field(description="Id of the run; a turn that paused or failed has several.")
    turn: int
    stage: str
    model: str
    tokens: TokenUse
    nano: int | None = Field(description="Billionths of a US dollar; null if the price is unknown.")


class Totals(Value):
    """Sums over model calls."""

    nano: int = 0
    unpriced: int = Field(default=0, description="Calls without a price.")
    replay_nano: int = Field(default=0, description="Replaying the transcript, same unit.")

    @classmethod
    def of(cls, uses: Iterable[ModelUse]) -> "Totals":
        """The sums of some uses."""
        sums = cls()
        for use in uses:
            nano, is_replay = use.nano or 0, use.stage == REPLAY
            sums += cls(
                nano=0 if is_replay else nano,
                replay_nano=nano if is_replay else 0,
                unpriced=use.tokens.calls if use.nano is None and not is_replay else 0,
            )
        return sums

    def __add__(self, other: "Totals") -> "Totals":
        """The sum of both."""
        return Totals(
            nano=self.nano + other.nano,
            unpriced=self.unpriced + other.unpriced,
            replay_nano=self.replay_nano + other.replay_nano,
        )

    @property
    def spent(self) -> Money:
        """What the calls cost."""
        return Money.of(self.nano, self.unpriced)

    @property
    def replay(self) -> Money:
        """What replaying the transcript would have cost at least."""
        return Money.of(self.replay_nano, self.unpriced)


class DaySum(Value):
    """What one session of a user cost on one day (UTC)."""

    day: date
    session: str = Field(description="Empty for sessions that were deleted.")
    totals: Totals


class StageCost(Value):
    """What one stage of a session used of one model."""

    stage: str
    model: str = Field(description="Empty for a stage that asked no model.")
    tokens: TokenUse
    cost: Money
    runs: int = Field(default=0, description="Runs of turns in which it asked the model.")
    saved: int = Field(
        default=0, description="Answered turns in which the stage asked no model: saved calls."
    )


class CostOfTurn(Value):
    """What one turn used in all, failed and undone runs of that number included."""

    turn: int
    tokens: TokenUse
    cost: Money
    replay: Money
    replayed: TokenUse = Field(description="Tokens that replaying the transcript takes, at least.")


class Crossing(Value):
    """The first turn from which on a session has used less than replaying it; null before."""

    money: int | None = Field(description="Null too where the price of a call is unknown.")
    tokens: int | None


class DaySpending(Value):
    """What a user has spent on a day (UTC), and the ceiling of it."""

    day: date
    spent: Money
    ceiling_usd: float | None = Field(description="ACC_ACE_MAX_COST; null without one.")
    resets_at: datetime = Field(description="Start of the next day (UTC).")


class SessionCost(Value):
    """What a session cost, by stage and by turn."""

    session: str
    cost: Money
    replay: Money = Field(description="Replaying the transcript, at least: without instructions.")
    prices_as_of: date = Field(description="Date of the price table now in use.")
    stages: list[StageCost]
    replayed: TokenUse = Field(description="Tokens that replaying the transcript would have used.")
    crossing: Crossing
    turns: list[CostOfTurn] = Field(description="A page of turns, newest first.")
    next_before: int | None = Field(description="`before` of the next page; null on the last one.")
    today: DaySpending
