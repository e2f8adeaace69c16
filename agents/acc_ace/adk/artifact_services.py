"""Open the ADK artifact and memory services that go with the stores."""

from typing import Final

from google.adk.artifacts import BaseArtifactService

from acc_ace.adk.file_artifacts import FileArtifacts
from acc_ace.adk.in_memory_artifact_files import InMemoryFiles
from acc_ace.adk.memory_service import ArtifactMemoryService
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.errors import ConfigError
from acc_ace.turn.ports import UserFiles

_ARTIFACTS: Final = "adk_artifacts"
"""The directory of users' own files in the data directory."""


def open_artifacts(settings: Settings) -> FileArtifacts | InMemoryFiles:
    """Files below the data directory, or in memory with the stores. Does no I/O."""
    if settings.store == "memory":
        return InMemoryFiles()
    return FileArtifacts(settings.data_dir / _ARTIFACTS, agents=settings.agent_dir)


def artifact_service(files: UserFiles) -> BaseArtifactService:
    """The files of a container as ADK's service. Raises ConfigError when they are none."""
    if isinstance(files, BaseArtifactService):
        return files
    raise ConfigError(f"{type(files).__name__} is not an ADK artifact service")


def memory_service(container: Container) -> ArtifactMemoryService:
    """The artifacts of a container as ADK's memory."""
    return ArtifactMemoryService(container.artifacts, container.clock, zone=container.settings.zone)
