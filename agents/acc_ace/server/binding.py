"""Open the address to serve on, or say which setting to change."""

import errno
import socket

from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.server.hosts import is_loopback

_BACKLOG = 2_048


def check_exposure(settings: Settings) -> None:
    """Raise ConfigError when others could reach a server that asks nobody for a token."""
    if (
        not is_loopback(settings.host)
        and not settings.auth_tokens
        and not settings.allow_remote_without_tokens
    ):
        raise ConfigError(
            f"ACC_ACE_HOST={settings.host} would let anyone who reaches this machine read and "
            "delete every conversation. Set ACC_ACE_AUTH_TOKENS=user:token,…, or bind 127.0.0.1, "
            "or, if something in front of the server checks users, set "
            "ACC_ACE_ALLOW_REMOTE_WITHOUT_TOKENS=true"
        )


def open_socket(host: str, port: int) -> socket.socket:
    """Bind and listen; port 0 takes a free one. Raises ConfigError when it cannot."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ConfigError(
            f"ACC_ACE_HOST={host} is not an address of this machine ({error.strerror}); "
            "127.0.0.1 always is"
        ) from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(_cannot_bind(error, host, port)) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The URL that a browser on this machine opens."""
    host, port = listener.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _cannot_bind(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; set ACC_ACE_PORT to another one (0 = a free one)"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights; set ACC_ACE_PORT to one above 1023"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"ACC_ACE_HOST={host} is not an address of this machine; 127.0.0.1 always is"
    return f"cannot bind {host}:{port} ({error.strerror}); set ACC_ACE_HOST and ACC_ACE_PORT"
