"""Our services for `adk web agents --session_service_uri=accace:// --memory_service_uri=accace://`.

ADK imports this file when it starts with the directory of the apps. `accace://` keeps sessions
beside the other stores: in the data directory or the PostgreSQL of the settings;
`accace:///some/path` in another directory. Memory is the artifact store of the process.
"""

from pathlib import Path
from urllib.parse import unquote, urlparse

from google.adk.artifacts import BaseArtifactService
from google.adk.cli.service_registry import get_service_registry

from acc_ace.adk.artifact_services import artifact_service
from acc_ace.adk.memory_service import ArtifactMemoryService
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.bootstrap import process_container
from acc_ace.errors import ConfigError

SCHEME = "accace"


def session_service(uri: str, **_: object) -> SqlSessionService:
    """The session service of a URI; the options that ADK gives to every scheme do not matter."""
    path = unquote(urlparse(uri).path)
    directory = Path(path) if path else None
    return open_session_service(process_container(), forgets=True, directory=directory)


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


get_service_registry().register_session_service(SCHEME, session_service)
get_service_registry().register_memory_service(SCHEME, memory_service)
get_service_registry().register_artifact_service(SCHEME, artifacts)
