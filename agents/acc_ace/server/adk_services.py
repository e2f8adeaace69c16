"""What ADK gets: our session, memory and artifact services, and the app object of `/v1`.

Both share stores, locks and models.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from google.adk.agents import BaseAgent
from google.adk.apps import App
from google.adk.cli.service_registry import get_service_registry
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader

from acc_ace.adk.artifact_services import artifact_service, memory_service
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.errors import ConfigError, UnknownAppError
from acc_ace.hooks import APPS, offering

_SCHEME: Final = "accace-served"


def memory_uri(container: Container) -> str:
    """A URI under which ADK, which takes nothing but URIs, finds our memory."""

    service = memory_service(container)
    get_service_registry().register_memory_service(_SCHEME, lambda uri, **_options: service)
    return f"{_SCHEME}://"


def artifact_uri(container: Container) -> str:
    """A URI under which ADK finds the files of the container."""
    service = artifact_service(container.files)
    get_service_registry().register_artifact_service(_SCHEME, lambda uri, **_options: service)
    return f"{_SCHEME}://"


def uri_of(service: SqlSessionService) -> str:
    """A URI under which ADK, which takes nothing but URIs, finds this very service."""

    def served(uri: str, **_options: object) -> SqlSessionService:
        return service

    get_service_registry().register_session_service(_SCHEME, served)
    return f"{_SCHEME}://"


_PACKAGE = "acc_ace"
_RELOADED = (
    "acc_ace.agent",
    "acc_ace.pipeline",
    "acc_ace.adk.stages",
    "acc_ace.adk.tools",
    "acc_ace.adk.tools",
    "acc_ace.turn.structured_call",
)
"""Modules reloaded when files of our app change; stores, settings and the server are kept."""


class InstalledApps(BaseAgentLoader):
    """Loads our own apps, the others when they are first asked for: no folder is scanned."""

    def __init__(self, built: App, others: Mapping[str, Callable[[], App]]) -> None:
        self._built, self._others = {built.name: built}, others

    def load_agent(self, agent_name: str) -> BaseAgent | App:
        """The app of that name; raises UnknownAppError when there is none."""
        if agent_name not in self.list_agents():
            there = " and ".join(map(repr, self.list_agents()))
            raise UnknownAppError(f"Agent not found: {agent_name!r}; there is {there}")
        if agent_name not in self._built:
            self._built[agent_name] = self._others[agent_name]()
        return self._built[agent_name]

    def list_agents(self) -> list[str]:
        """The names of the apps."""
        return sorted({*self._built, *self._others})


class ServedAgents(AgentLoader):
    """Loads the apps of a directory, except the one that is already built."""

    def __init__(self, agents_dir: str, *, built: App) -> None:
        super().__init__(agents_dir)
        self._built = built

    def load_agent(self, agent_name: str) -> BaseAgent | App:
        """The app of that name; raises UnknownAppError when there is none."""
        if agent_name == self._built.name:
            return self._built
        try:
            return super().load_agent(agent_name)
        except ValueError as error:
            # What follows in ADK's own words names folders.
            reason = str(error).partition(". ")[0]
            if not reason.startswith(("Agent not found", "No root_agent found")):
                raise
            raise UnknownAppError(f"{reason}; GET /list-apps names the apps") from None


class ReloadedAgents(AgentLoader):
    """Loads the apps of a directory, and reloads them when their files change."""

    def remove_agent_from_cache(self, agent_name: str) -> None:
        """Forget an app; of our own package, which the server runs in, only the app's part."""
        if agent_name != _PACKAGE:
            super().remove_agent_from_cache(agent_name)
            return
        for name in [*sys.modules]:
            if name in _RELOADED or name.startswith(tuple(f"{part}." for part in _RELOADED)):
                del sys.modules[name]
        self._agent_cache.pop(agent_name, None)


def agents_dir(settings: Settings) -> Path:
    """The directory that ADK takes for that of its apps: an installation has none there."""
    return settings.agent_dir or settings.data_dir / "agents"


def apps_beside(container: Container) -> dict[str, Callable[[], App]]:
    """Our apps beside the first one, each built when somebody asks for it."""
    apps = {name: build for entry in offering(APPS) for name, build in entry.apps().items()}
    return {name: partial(build, container) for name, build in apps.items()}


def agent_loader(
    settings: Settings, built: App, others: Mapping[str, Callable[[], App]] | None = None
) -> BaseAgentLoader:
    """The loader to serve with; `others` are our apps beside the built one, by name.

    Raises ConfigError when the directory of apps is missing.
    """
    folder = settings.agent_dir
    if folder is None:
        return InstalledApps(built, others or {})
    if not folder.is_dir():
        raise ConfigError(
            f"the directory of ADK apps is missing: {folder}; set ACC_ACE_AGENT_DIR to the folder "
            "'agents' of a clone, or leave it out to serve this app alone"
        )
    if settings.reload_agents:
        return ReloadedAgents(str(folder))
    return ServedAgents(str(folder), built=built)
