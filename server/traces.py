"""Bound what ADK's web UI keeps of turns to show them, and forget it with its session or user.

ADK keeps every span of the process in memory for its trace view, words included, and has no
limit, no deletion and no way to its exporters but the routes that read them.
"""

import inspect
import logging
import re
from collections import deque
from collections.abc import Collection
from threading import Lock
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute
from google.adk.cli.api_server import InMemoryExporter
from google.adk.telemetry._web_ui import WebUiLogExporter
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

KEPT_TRACES = 100
"""Traces of sessions that are kept; of more, the newest. A turn is one trace."""

_READERS: Final = "/dev/apps/{app_name}/debug/trace/"
_SESSION: Final = re.compile(r"/(?:v1|apps/[^/]+/users/[^/]+)/sessions/([^/]+)/?$")


class Traces(SpanProcessor):
    """What ADK keeps of turns: the newest `limit` traces that belong to a session.

    A processor after ADK's own, so that a trace is looked at when all of its spans are there.
    """

    def __init__(
        self,
        spans: InMemoryExporter,
        events: dict[str, dict[str, Any]],
        logs: WebUiLogExporter,
        *,
        limit: int = KEPT_TRACES,
    ) -> None:
        self._spans, self._events, self._logs = spans, events, logs
        self._limit = limit
        self._ended: deque[int] = deque()
        self._running: set[int] = set()
        self._lock = Lock()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note that a trace has begun."""
        if _is_root(span):
            with self._lock:
                self._running.add(_trace_of(span))

    def on_end(self, span: ReadableSpan) -> None:
        """Keep a trace that has ended if it is of a session; drop what is beyond the limit."""
        if not _is_root(span):
            return
        ended = _trace_of(span)
        with self._lock:
            self._running.discard(ended)
            if any(ended in traces for traces in self._spans.trace_dict.values()):
                self._ended.append(ended)
            while len(self._ended) > self._limit:
                self._ended.popleft()
            self._keep({*self._ended, *self._running})

    def forget(self, session: str) -> None:
        """Drop the traces of the sessions of that name, whatever blanks are around it."""
        with self._lock:
            doomed = {
                number
                for name, traces in self._spans.trace_dict.items()
                if name.strip() == session.strip()
                for number in traces
            }
            self._ended = deque(number for number in self._ended if number not in doomed)
            self._keep({*self._ended, *self._running} - doomed)

    def forget_all(self) -> None:
        """Drop every trace, for the erasure of a user: spans do not say whose they are."""
        with self._lock:
            self._ended.clear()
            self._keep(())

    def _keep(self, kept: Collection[int]) -> None:
        """Drop all else, in place: the routes and ADK's exporters hold the same objects."""
        spans = self._spans._spans
        spans[:] = [span for span in spans if _trace_of(span) in kept]
        sessions = self._spans.trace_dict
        for session, traces in list(sessions.items()):
            traces[:] = [number for number in traces if number in kept]
            if not traces:
                del sessions[session]
        for event, attributes in list(self._events.items()):
            if attributes.get("trace_id") not in kept:
                del self._events[event]
        with self._logs._lock:
            logs = [log for log in self._logs._logs if log.log_record.trace_id in kept]
            self._logs._logs.clear()
            self._logs._logs.extend(logs)


class TraceErasure:
    """ASGI middleware: whoever deletes a session deletes its traces too."""

    def __init__(self, app: ASGIApp, *, traces: Traces) -> None:
        self._app = app
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] != "http" or scope["method"] != "DELETE":
            await self._app(scope, receive, send)
            return

        async def forgetful(message: Message) -> None:
            # Before the answer, and also when the deletion broke off half-way.
            if message["type"] == "http.response.start" and not 400 <= message["status"] < 500:
                self._forget(scope["path"])
            await send(message)

        await self._app(scope, receive, forgetful)

    def _forget(self, path: str) -> None:
        if (session := _SESSION.fullmatch(path)) is not None:
            self._traces.forget(session[1])


def bound_traces(app: FastAPI) -> Traces | None:
    """Bound what an app with ADK's web UI keeps of turns; None where it keeps nothing."""
    found: dict[str, Any] = {}
    for route in app.routes:
        if isinstance(route, APIRoute) and route.path.startswith(_READERS):
            found |= inspect.getclosurevars(route.endpoint).nonlocals
    if not found:
        return None
    provider = trace.get_tracer_provider()
    add = getattr(provider, "add_span_processor", None)
    try:
        traces = Traces(found["memory_exporter"], found["trace_dict"], found["log_exporter"])
    except KeyError as missing:
        logger.warning("traces_not_bounded missing=%s: this ADK keeps traces elsewhere", missing)
        return None
    if callable(add):
        add(traces)
    return traces


def _is_root(span: ReadableSpan) -> bool:
    return span.parent is None or span.parent.is_remote


def _trace_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    return context.trace_id if context is not None else 0
