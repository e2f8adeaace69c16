"""A bound on the time that a client takes to send the head of a request.

uvicorn has none: `timeout_keep_alive` runs between requests only, so a client that sends a byte
now and then holds a connection for ever. Bodies have their own bound, in `request_body`.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\n"
    b"content-type: text/plain; charset=utf-8\r\n"
    b"content-length: 36\r\n"
    b"connection: close\r\n\r\n"
    b"the headers did not arrive in time.\n"
)


def header_timeout(seconds: float) -> type[H11Protocol]:
    """uvicorn's HTTP protocol, whose connections are closed with 408 after `seconds`."""

    class TimedProtocol(H11Protocol):
        """Waits for a whole head, from the connection or the first byte of the next request."""

        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self._await_head()
            else:
                self._head_arrived()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_arrived()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            """Start the clock, unless it runs: more bytes of the same head give no more time."""
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(seconds, self._cut)

        def _head_arrived(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def _cut(self) -> None:
            self._head_timer = None
            if not self.transport.is_closing():
                self.transport.write(_ANSWER)
                self.transport.close()

    return TimedProtocol
