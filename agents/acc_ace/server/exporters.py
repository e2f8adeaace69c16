"""What operators read of a server: OpenTelemetry's export, and the same measures for Prometheus."""

import asyncio
import logging
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Final

from google.adk.telemetry.setup import OTelHooks, maybe_set_otel_providers
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from acc_ace.cockpit.timeline import Timeline
from acc_ace.config import Settings, settle_telemetry, stop_telemetry
from acc_ace.errors import ConfigError
from acc_ace.hooks import how_to_install
from acc_ace.server.turn_gate import TurnGate

_meter: Final = metrics.get_meter("acc_ace")
_log: Final = logging.getLogger(__name__)
_FLUSH_S: Final = 3.0


def open_exporters(settings: Settings) -> bool:
    """Export what OpenTelemetry's own variables ask for, and measures for Prometheus if set.

    Returns whether anything is exported. Comes before ADK builds its server, whose own providers
    would also hold every span in memory. Raises ConfigError for what is not installed.
    """
    has_endpoint = settle_telemetry(with_content=settings.log_content)
    is_exported = has_endpoint or settings.prometheus
    if is_exported:
        _open(prometheus=settings.prometheus, otlp=has_endpoint)
    stop_telemetry()
    return is_exported


@cache
def _open(*, prometheus: bool, otlp: bool) -> None:
    if otlp:
        _require("opentelemetry.exporter.otlp.proto.http", "OTEL_EXPORTER_OTLP_ENDPOINT")
    hooks = OTelHooks()
    if prometheus:
        _require("opentelemetry.exporter.prometheus", "ACC_ACE_PROMETHEUS")
        from opentelemetry.exporter.prometheus import (  # noqa: PLC0415 - of the extra
            PrometheusMetricReader,
        )

        hooks.metric_readers.append(PrometheusMetricReader())
    maybe_set_otel_providers([hooks])
    # ADK sets its own after ours, which OpenTelemetry refuses with a warning.
    for name in ("opentelemetry.trace", "opentelemetry.metrics._internal", "opentelemetry._logs"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _require(package: str, setting: str) -> None:
    try:
        is_there = find_spec(package) is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise ConfigError(f"{setting} needs the extra 'otel' ({how_to_install('otel')})")


async def flush_exporters() -> None:
    """Send what is not sent yet, before the signal that ends the server ends the process."""
    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        if isinstance(provider, TracerProvider | MeterProvider):
            try:
                await asyncio.wait_for(asyncio.to_thread(provider.force_flush), _FLUSH_S)
            except TimeoutError:
                _log.warning("telemetry_not_flushed seconds=%g", _FLUSH_S)


def watch(gate: TurnGate, timeline: Timeline) -> None:
    """Measure the turns and streams that are open now."""

    def turns(_: metrics.CallbackOptions) -> Iterator[metrics.Observation]:
        yield metrics.Observation(gate.running)

    def streams(_: metrics.CallbackOptions) -> Iterator[metrics.Observation]:
        yield metrics.Observation(timeline.clients)

    _meter.create_observable_gauge("acc_ace.turns.running", [turns])
    _meter.create_observable_gauge("acc_ace.streams.open", [streams])
