"""Open the ADK artifact and memory services that go with the stores."""

from google.adk.artifacts import BaseArtifactService

from config import Settings
from core.adapters.adk_memory import ArtifactMemoryService
from core.adapters.file_artifacts import FileArtifacts
from core.adapters.in_memory_files import InMemoryFiles
from core.adapters.residue import ARTIFACTS
from core.container import Container
from core.errors import ConfigError
from core.ports.user_files import UserFiles


def open_artifacts(settings: Settings) -> FileArtifacts | InMemoryFiles:
    """Files below the data directory, or in memory with the stores. Does no I/O."""
    if settings.store == "memory":
        return InMemoryFiles()
    return FileArtifacts(settings.data_dir / ARTIFACTS, agents=settings.agent_dir)


def artifact_service(files: UserFiles) -> BaseArtifactService:
    """The files of a container as ADK's service. Raises ConfigError when they are none."""
    if isinstance(files, BaseArtifactService):
        return files
    raise ConfigError(f"{type(files).__name__} is no artifact service of ADK's")


def memory_service(container: Container) -> ArtifactMemoryService:
    """The artifacts of a container as ADK's memory."""
    return ArtifactMemoryService(container.artifacts, container.clock, zone=container.settings.zone)
