"""What the server prints when it is up: what to open, and who answers."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from acc_ace.config import Settings
from acc_ace.models.factory import ModelInfo
from acc_ace.server.hosts import HostNames


def greeting(url: str, settings: Settings, models: Sequence[ModelInfo]) -> str:
    """The lines to print; they name no secret."""
    return "\n".join(_lines(url, settings, models))


def _lines(url: str, settings: Settings, models: Sequence[ModelInfo]) -> Iterator[str]:
    names = HostNames(trusted=settings.trusted_hosts, bind_host=settings.host)
    if names.accepts(urlsplit(url).hostname or ""):
        yield f"ACC×ACE serves on {url}"
    else:
        # The address itself would be refused, and a proxy's scheme and port are not known.
        port, told = urlsplit(url).port, ", ".join(names.patterns)
        yield f"ACC×ACE serves on port {port}, under these names only: {told}"
        url = ""
    if settings.serve_web_interface:
        yield f"  chat      {url}/dev-ui/?app=acc_ace"
    yield f"  API       {url}/docs"
    yield f"  data      {_data(settings)}"
    yield f"  access    {_access(settings)}"
    yield "Models"
    width = max(len(info.name) for info in models)
    for info in models:
        note = f"  ({info.note})" if info.note else ""
        yield f"  {info.role:<11} {info.name:<{width}}{note}"
    if all(info.kind == "embedded" for info in models):
        yield "Set GOOGLE_API_KEY to let Gemini answer. Press Ctrl-C to stop."
    else:
        yield "Press Ctrl-C to stop."


def _data(settings: Settings) -> str:
    if settings.store == "memory":
        return "in memory, forgotten at exit"
    if settings.store == "postgres":
        return "in PostgreSQL (ACC_ACE_DATABASE_URL)"
    return str(settings.data_dir)


def _access(settings: Settings) -> str:
    if settings.auth_tokens:
        return f"bearer tokens ({len(settings.auth_tokens)} set); browsers sign in at /login"
    return "no tokens: whoever reaches this address is let in"
