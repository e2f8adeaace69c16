"""Check settings, and the files and addresses they refer to."""

import errno
import ipaddress
import json
import socket
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from importlib.util import find_spec

from pydantic import BaseModel

from acc_ace.cli.checks.installation import CheckResult, note, ok, problem
from acc_ace.cli.checks.storage import why_inaccessible
from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.hooks import how_to_install

_PREFIX = "ACC_ACE_"
_NEAR = 0.7
"""Minimum similarity, 0 to 1, of a suggested name, without the common prefix."""


def check_names(names: Iterable[str]) -> Iterator[CheckResult]:
    """Report unknown names with our prefix: they would be ignored silently."""
    known = setting_names()
    leaves = [name for name in known if not any(each.startswith(f"{name}__") for each in known)]
    for name in names:
        if name.upper() not in known:
            near = get_close_matches(_bare(name.upper()), map(_bare, leaves), n=1, cutoff=_NEAR)
            fix = f"did you mean {_PREFIX}{near[0]}?" if near else "see .env.example for all names"
            yield problem("settings", f"{name} is not a setting", fix)


def setting_names() -> tuple[str, ...]:
    """Every setting's name; nested ones look like 'ACC_ACE_GENERATOR__MODEL'."""
    return tuple(f"{_PREFIX}{name.upper()}" for name in _names(Settings))


def check_agent_dir(settings: Settings) -> CheckResult:
    """Whether the configured folder contains the ADK app."""
    if settings.agent_dir is None:
        return ok("agent_dir", "none: an installed package serves its own app")
    app = settings.agent_dir / "acc_ace" / "agent.py"
    if why_inaccessible(app) is None and app.is_file():
        return ok("agent_dir", str(settings.agent_dir))
    return problem(
        "agent_dir",
        f"{settings.agent_dir} has no acc_ace/agent.py",
        "set ACC_ACE_AGENT_DIR to the folder 'agents' of a clone of the repository",
    )


def check_files_dir(settings: Settings) -> CheckResult:
    """Whether the folder of the read_file tool exists and can be accessed."""
    folder = settings.files_dir
    if folder is None:
        return ok("files_dir", "unset: the read_file tool is disabled")
    if (unseen := why_inaccessible(folder)) is not None:
        detail = f"{folder} cannot be accessed: {unseen}"
        return problem("files_dir", detail, "grant this user access, or change ACC_ACE_FILES_DIR")
    if folder.is_dir():
        return ok("files_dir", str(folder))
    return problem(
        "files_dir", f"{folder} is not a folder", "create it, or change ACC_ACE_FILES_DIR"
    )


def check_tools(settings: Settings) -> Iterator[CheckResult]:
    """Whether the user's own tools can be loaded; they are not called."""
    for name in settings.tools:
        module, separator, function = name.partition(":")
        if not separator or not module or not function:
            yield problem(
                "tools", f"{name!r} is not 'package.module:function'", "fix ACC_ACE_TOOLS"
            )
        elif not _findable(module):
            yield problem(
                "tools",
                f"module {module!r} was not found",
                "install it into this environment, or fix ACC_ACE_TOOLS",
            )
        else:
            yield _loaded(name)


def check_mcp(settings: Settings) -> CheckResult:
    """Whether the MCP servers file is valid and MCP is installed."""
    path = settings.mcp_servers
    if path is None:
        return ok("mcp", "no servers are configured")
    fix = 'write {"mcpServers": {name: {...}}}, or unset ACC_ACE_MCP_SERVERS'
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        return problem("mcp", f"{path} cannot be read: {error.strerror}", fix)
    except ValueError as error:
        return problem("mcp", f"{path} is not JSON: {error}", fix)
    servers = value.get("mcpServers") if isinstance(value, dict) else None
    if not isinstance(servers, dict):
        return problem("mcp", f"{path} has no 'mcpServers' object", fix)
    if find_spec("mcp") is None:
        return problem("mcp", "the package mcp is not installed", how_to_install("mcp"))
    return ok("mcp", f"{len(servers)} servers in {path}")


def check_address(settings: Settings) -> Iterator[CheckResult]:
    """Whether the server may bind its address and the port is free."""
    host, port = settings.host, settings.port
    if not _loopback(host) and not settings.auth_tokens:
        if settings.allow_remote_without_tokens:
            yield note("host", f"{host} is open to others without authentication", _TOKENS)
        else:
            yield problem(
                "host", f"{host} is not a loopback address, and there are no tokens", _TOKENS
            )
    try:
        _bind(host, port)
    except OSError as error:
        busy = error.errno == errno.EADDRINUSE
        yield problem(
            "port",
            f"{host}:{port} is in use" if busy else f"{host}:{port} cannot be bound: {error}",
            "stop the other server (ignore this if it is yours), or set ACC_ACE_PORT"
            if busy
            else "set ACC_ACE_HOST and ACC_ACE_PORT to an address of this machine",
        )
    else:
        yield ok("port", f"{host}:{port} is free")


_TOKENS = "set ACC_ACE_AUTH_TOKENS=user:token, or ACC_ACE_HOST=127.0.0.1"


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _names(inner, f"{prefix}{name}__")
        yield f"{prefix}{name}"


def _bare(name: str) -> str:
    return name.removeprefix(_PREFIX)


def _findable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # The parent package is missing, or the name is odd.
        return False


def _loaded(name: str) -> CheckResult:
    fix = "fix the module, or name one of its functions in ACC_ACE_TOOLS"
    try:
        from acc_ace.adk.tools import load_tool  # noqa: PLC0415 - the other checks run without ADK

        load_tool(name)
    except ConfigError as error:
        return problem("tools", str(error), fix)
    except Exception as error:  # noqa: BLE001 - a module of the user's may raise anything
        reported = f"{name!r} cannot be loaded: {type(error).__name__}: {error}"
        return problem("tools", reported, fix)
    return ok("tools", name)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        # As servers do: a port with connections in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
