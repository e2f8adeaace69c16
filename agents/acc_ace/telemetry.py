"""Spans and measures of turns, by OpenTelemetry's API: free until something exports them.

ADK makes those of agents, tools and the models of agents. Here are those of what it does not see:
stages that are no agent, structured model calls, and how turns end. Attributes follow the semantic
conventions for generative AI; measures have names of their own, since Prometheus's exporter mixes
up the labels of two scopes' measures under one. Nothing that a user, a model or a tool said is in
them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from opentelemetry import metrics, trace

from acc_ace.core.schemas.report import TokenUse

_SCOPE: Final = "acc_ace"
_tracer: Final = trace.get_tracer(_SCOPE)
_meter: Final = metrics.get_meter(_SCOPE)

_turns: Final = _meter.create_counter("acc_ace.turns", description="Turns, by how they ended.")
_stages: Final = _meter.create_histogram(
    "acc_ace.stage.duration", unit="s", description="Duration of the stages of a turn."
)
_calls: Final = _meter.create_histogram(
    "acc_ace.model.duration", unit="s", description="Duration of structured model calls."
)
_tokens: Final = _meter.create_histogram(
    "acc_ace.model.tokens", unit="{token}", description="Tokens of structured model calls."
)

_OPERATION: Final = "gen_ai.operation.name"
_AGENT: Final = "gen_ai.agent.name"
_GENERATE: Final = "generate_content"


def count_turn(app: str, outcome: str) -> None:
    """Count a turn of an app as it ends."""
    _turns.add(1, {"app": app, "outcome": outcome})


@contextmanager
def stage_span(stage: str) -> Iterator[None]:
    """A span of a stage, and its seconds; an error is noted by its class alone."""
    # Not made current: a stage may be left from another context than it was entered in.
    span = _tracer.start_span(
        f"stage {stage}", attributes={_OPERATION: "invoke_agent", _AGENT: stage}
    )
    labels, started = {"stage": stage}, perf_counter()
    try:
        yield
    except Exception as error:
        labels["error.type"] = type(error).__name__
        _fail(span, error)
        raise
    finally:
        _stages.record(perf_counter() - started, labels)
        span.end()


class ModelSpan:
    """The span of one structured call of a model, which is told what the call used."""

    def __init__(self, role: str, model: str) -> None:
        self._labels = {_OPERATION: _GENERATE, _AGENT: role, "gen_ai.request.model": model}
        self._span = _tracer.start_span(
            f"{_GENERATE} {model}", kind=trace.SpanKind.CLIENT, attributes=self._labels
        )
        self._started = perf_counter()

    def used(self, use: TokenUse, model: str) -> None:
        """Note the tokens of a reply, and who gave it."""
        self._span.set_attribute("gen_ai.response.model", model)
        for kind, count in (("input", use.input), ("output", use.output)):
            self._span.set_attribute(f"gen_ai.usage.{kind}_tokens", count)
            _tokens.record(count, {**self._labels, "gen_ai.token.type": kind})

    def __enter__(self) -> "ModelSpan":
        """This span, already started."""
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End it; an error is noted by its class alone."""
        labels = dict(self._labels)
        if error is not None:
            labels["error.type"] = type(error).__name__
            _fail(self._span, error)
        _calls.record(perf_counter() - self._started, labels)
        self._span.end()


def _fail(span: trace.Span, error: BaseException) -> None:
    # Its text may quote what was said.
    span.set_status(trace.StatusCode.ERROR)
    span.set_attribute("error.type", type(error).__name__)
