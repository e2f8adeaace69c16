"""ADK's memory and artifacts over the stores of a server, for its routes and its tools."""

from typing import Final

from google.adk.cli.service_registry import get_service_registry

from acc_ace.adk.artifact_services import artifact_service, memory_service
from acc_ace.container import Container

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
