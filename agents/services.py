"""Our services for `adk web agents --session_service_uri=accace:// --memory_service_uri=accace://`.

ADK imports this file when it starts with the directory of the apps. `accace://` keeps sessions
beside the other stores: in the data directory or the PostgreSQL of the settings;
`accace:///some/path` in another directory. Memory is the artifact store of the process.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from google.adk.artifacts import BaseArtifactService
from google.adk.cli.service_registry import get_service_registry

from acc_ace.adk.artifact_services import artifact_service
from acc_ace.adk.memory_service import ArtifactMemoryService
from acc_ace.adk.sessions.create_session_service import open_sessions
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.bootstrap import process_container
from acc_ace.config import settings
from acc_ace.errors import ConfigError
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.session import PastTurn
from acc_ace.turn.event_offload import offload_events
from acc_ace.turn.session_changes import forget_session

SCHEME = "accace"


def session_service(uri: str, **_: object) -> SqlSessionService:
    """The session service of a URI; the options that ADK gives to every scheme do not matter."""
    path = unquote(urlparse(uri).path)
    return open_sessions(
        settings(),
        lambda: process_container().database,
        offload=offload,
        on_delete=forget,
        directory=Path(path) if path else None,
    )


def memory_service(uri: str, **_: object) -> ArtifactMemoryService:
    """The memory service over the artifacts of this process. Raises ConfigError for a path."""
    if urlparse(uri).path.strip("/"):
        raise ConfigError(
            f"memory service '{uri}': memory lives in ACC_ACE_DATA_DIR; use {SCHEME}://"
        )
    container = process_container()
    return ArtifactMemoryService(container.artifacts, container.clock, zone=container.settings.zone)


def artifacts(uri: str, **_: object) -> BaseArtifactService:
    """The files of this process. Raises ConfigError for a path."""
    if urlparse(uri).path.strip("/"):
        raise ConfigError(
            f"artifact service '{uri}': files live in ACC_ACE_DATA_DIR; use {SCHEME}://"
        )
    return artifact_service(process_container().files)


async def offload(key: SessionKey, turns: Sequence[PastTurn]) -> None:
    """Write the words of old events to the artifacts of this process."""
    await offload_events(process_container(), key, turns)


async def forget(key: SessionKey) -> None:
    """Hold a session and delete what the stores of this process keep of it."""
    await forget_session(process_container(), key)


get_service_registry().register_session_service(SCHEME, session_service)
get_service_registry().register_memory_service(SCHEME, memory_service)
get_service_registry().register_artifact_service(SCHEME, artifacts)
