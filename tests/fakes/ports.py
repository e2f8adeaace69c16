"""Ports of servers that tests start, and that may be stopped and started again."""

import secrets
import socket

_PORTS = range(20_000, 32_000)
"""Below those that systems hand out, so that nobody is given the port of a stopped server."""

_TRIES = 100


def free_port() -> int:
    """A port of this machine that nothing listens on now, chosen at random.

    Not by `random`: Hypothesis seeds that alike in every worker.
    """
    for _ in range(_TRIES):
        port = secrets.choice(_PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"no free port among {_PORTS}")
