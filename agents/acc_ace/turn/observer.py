"""What is only measured of a turn, and no step depends on: its observer.

Tokens, time and model calls by stage, calls saved, warnings, and the requests that are kept.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

from acc_ace.clock import TimeBudget
from acc_ace.core.schemas.cost import REPLAY, Totals
from acc_ace.core.schemas.report import Stage, StageFinished, StageStarted, TokenUse, TurnEvent
from acc_ace.core.schemas.trace import ModelCall, RequestPart
from acc_ace.telemetry import stage_span
from acc_ace.turn.structured_call import StructuredResult

Listener = Callable[[TurnEvent], None]

_SHARE = 1 / 3
"""Of the time of the turn's models, what a stage has that the turn can do without."""

_WHOLE_CALLS = 64
"""Model calls of a run whose requests are kept; of later ones only the cost and the reply are."""


class SentRequest(NamedTuple):
    """A request of an answering agent that waits for its reply."""

    parts: Callable[[], tuple[RequestPart, ...]]
    started: float


@dataclass
class StageUse:
    """Tokens, calls and time of one stage."""

    tokens: TokenUse = field(default_factory=TokenUse)
    model: str = ""
    ms: float = 0.0
    by_model: dict[str, TokenUse] = field(default_factory=dict)
    """The same tokens by the model that took them, as each has its price."""
    budget: TimeBudget | None = None
    """Its share of the time of the turn's models, where the turn can do without it."""

    def add(self, use: TokenUse, model: str) -> None:
        """Count calls of a model, which need not be the stage's own."""
        if use == TokenUse():
            return
        self.tokens += use
        self.by_model[model] = self.by_model[model] + use if model in self.by_model else use

    def named(self) -> dict[str, TokenUse]:
        """`by_model`, with what a reply without a model's name took under the stage's model."""
        named = dict(self.by_model)
        if unnamed := named.pop("", None):
            named[self.model] = named[self.model] + unnamed if self.model in named else unnamed
        return named


@dataclass
class TurnObserver:
    """Measures one run of a turn and tells its listener."""

    listener: Listener | None = None
    run: str = field(default_factory=lambda: uuid4().hex)
    """The name of this run among those whose cost is kept."""
    budget: TimeBudget = field(default_factory=TimeBudget)
    """Time budget of the turn's model calls, running since the turn was opened."""
    cost_before: Totals = field(default_factory=Totals)
    """What the session had cost before the turn."""
    replayed: TokenUse = field(default_factory=TokenUse)
    """What replaying the transcript would have used in its place."""
    stages: dict[Stage, StageUse] = field(default_factory=dict)
    saved: dict[str, str] = field(default_factory=dict)
    """Stages that asked no model, each with the reason."""
    warnings: list[str] = field(default_factory=list)
    sent: dict[tuple[str, str], SentRequest] = field(default_factory=dict)
    """Requests that wait for their reply, by run and agent."""
    calls: list[ModelCall] = field(default_factory=list)
    """Model calls of this run, in the order of their replies."""
    stored_use: dict[str, dict[str, TokenUse]] = field(default_factory=dict)
    """What of its use is stored already, by stage and model."""
    stored_calls: int = 0
    """How many of its calls are stored already."""
    redacted: dict[RequestPart, RequestPart] = field(default_factory=dict)
    """Their parts, as they are stored."""

    @property
    def used(self) -> dict[str, dict[str, TokenUse]]:
        """Tokens by stage and model, replay's among them at the price of the Generator's model."""
        used: dict[str, dict[str, TokenUse]] = {
            stage: use.named() for stage, use in self.stages.items() if use.by_model
        }
        if (model := self.models.get("generator")) and self.replayed.calls:
            used[REPLAY] = {model: self.replayed}
        return used

    @property
    def models(self) -> dict[str, str]:
        """The model that answered last in each stage."""
        return {stage: use.model for stage, use in self.stages.items() if use.model}

    def emit(self, event: TurnEvent) -> None:
        """Send an event to the turn's listener, if any."""
        if self.listener is not None:
            self.listener(event)

    def warn(self, *warnings: str) -> None:
        """Add warnings, without duplicates."""
        self.warnings[:] = dict.fromkeys((*self.warnings, *warnings))

    def count(self, use: StageUse, result: StructuredResult[Any]) -> None:
        """Take a structured call's cost into its stage, and its warnings and calls here."""
        use.add(result.use, result.model)
        use.model = result.model or use.model
        self.warn(*result.warnings)
        self.note_calls(*result.calls)

    def note_calls(self, *calls: ModelCall) -> None:
        """Keep model calls."""
        for call in calls:
            is_whole = len(self.calls) < _WHOLE_CALLS
            self.calls.append(call if is_whole else call.model_copy(update={"parts": ()}))

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[StageUse]:
        """Time work of a stage without emitting events."""
        use = self.stages.setdefault(stage, StageUse())
        if stage != "generator" and use.budget is None:
            share = _SHARE * self.budget.seconds
            use.budget = TimeBudget(share, within=self.budget, stage=stage)
        (use.budget or self.budget).begin()
        started = time.perf_counter()
        try:
            with stage_span(stage):
                yield use
        finally:
            use.ms += (time.perf_counter() - started) * 1_000
            self.budget.begin()

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[StageUse]:
        """Time a stage and emit its start and end; the stage adds its model calls."""
        self.emit(StageStarted(stage=stage))
        try:
            with self.timed(stage) as use:
                yield use
        finally:
            use = self.stages[stage]
            self.emit(
                StageFinished(
                    stage=stage,
                    ms=round(use.ms, 3),
                    model=use.model or None,
                    tokens=use.tokens,
                )
            )
