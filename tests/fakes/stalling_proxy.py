"""A TCP proxy that can go silent as networks do: nothing is forwarded, and nothing is closed."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit


@dataclass
class _Flow:
    client: socket.socket
    server: socket.socket
    silent: bool = False


@dataclass
class StallingProxy:
    """A running proxy before a server on loopback."""

    target: int
    listener: socket.socket
    _flows: list[_Flow] = field(default_factory=list)
    _dead: bool = False
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def url(self, url: str) -> str:
        """The same server, reached through the proxy."""
        parts = urlsplit(url)
        host = f"{parts.netloc.rpartition(':')[0]}:{self.listener.getsockname()[1]}"
        return urlunsplit(parts._replace(netloc=host))

    def stall(self, *, dead: bool = False) -> None:
        """Forward nothing more on the connections that there are; with `dead`, on new ones too."""
        with self._mutex:
            self._dead = dead
            for flow in self._flows:
                flow.silent = True

    def tell_the_server(self) -> None:
        """Let the server see the end of the silent connections; the client hears nothing."""
        with self._mutex:
            for flow in self._flows:
                if flow.silent:
                    with suppress(OSError):
                        flow.server.shutdown(socket.SHUT_RDWR)

    def recover(self) -> None:
        """Serve new connections again; the silent ones stay silent."""
        with self._mutex:
            self._dead = False

    def serve(self) -> None:
        """Accept until the listener is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            with self._mutex:
                flow = _Flow(client, server, silent=self._dead)
                self._flows.append(flow)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(flow, source, sink), daemon=True).start()

    def _pump(self, flow: _Flow, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                # Swallowed, as by a firewall that has forgotten the connection.
                if not flow.silent:
                    sink.sendall(data)
            if not flow.silent:
                sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close everything, so that whoever still waits gets an error."""
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self._mutex:
            for flow in self._flows:
                for end in (flow.client, flow.server):
                    with suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
                    end.close()


@contextmanager
def stalling_proxy(port: int) -> Iterator[StallingProxy]:
    """A proxy before the server on a port of loopback, for as long as the context is open."""
    proxy = StallingProxy(port, socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join(timeout=10)
