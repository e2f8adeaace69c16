"""Open the ADK artifact and memory services that belong to the stores: in files, or in memory.

A user's artifacts can be found and erased. The layout of the files is ADK's own (google-adk 2.13),
each name escaped so that no user's directory can be inside another's: `apps/APP/users/USER/`,
in it `artifacts/` and `sessions/SESSION/artifacts/`. Files that `adk web` stored beside the agents
before, in `<agents>/<app>/.adk/artifacts`, are exported and erased too, but not served.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from google.adk.artifacts import BaseArtifactService, FileArtifactService, InMemoryArtifactService
from google.adk.artifacts.base_artifact_service import ArtifactVersion
from google.adk.artifacts.file_artifact_service import FileArtifactVersion
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types

from acc_ace.adk.memory_service import ArtifactMemoryService
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.core.schemas.base import Tenant
from acc_ace.errors import ConfigError, InputError, StoreError
from acc_ace.storage.playbooks.export_folders import part
from acc_ace.storage.private_files import make_directory
from acc_ace.turn.ports import UserFile, UserFiles

_LONGEST_NAME = 256
_LONGEST_PATH = 3_072
"""Bytes of a name with its directories; leaves room for the root's path in Linux's 4,096."""

_METADATA = "metadata.json"
_BESIDE_AGENTS = ("*/.adk/artifacts", ".adk/artifacts")


class FileArtifacts(FileArtifactService):
    """ADK's artifact service, and the UserFiles behind it. Does no I/O at construction."""

    def __init__(self, root: Path, *, agents: Path | None = None) -> None:
        """Store files below `root`; also find those that ADK stored below `agents`."""
        # ADK's constructor would create the directory now, readable by all users.
        self.root_dir = root.expanduser().absolute()
        self._agents = agents

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Save a version of a file; return its number. Raises StoreError if that fails."""
        make_directory(self.root_dir)
        try:
            return await super().save_artifact(
                app_name=app_name,
                user_id=user_id,
                filename=filename,
                artifact=artifact,
                session_id=session_id,
                custom_metadata=custom_metadata,
            )
        except OSError as error:
            raise _store_error(self.root_dir, error) from error

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """Names of the user's files and the session's. Raises InputValidationError as ADK does."""
        if session_id is not None:
            _check_name(session_id, "session id")
        return await super().list_artifact_keys(
            app_name=app_name, user_id=user_id, session_id=session_id
        )

    async def apps(self, user: str) -> set[str]:
        """The apps in which a user has files."""
        return await asyncio.to_thread(self._apps, user)

    async def count(self, tenant: Tenant) -> int:
        """How many files the user has."""
        return await asyncio.to_thread(lambda: sum(1 for _ in _files(self._places(tenant))))

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's files (of one session); return how many."""
        return await asyncio.to_thread(self._erase, tenant, session)

    async def export(self, tenant: Tenant) -> AsyncIterator[UserFile]:
        """Every file of the user, one at a time."""
        for place, path in await asyncio.to_thread(lambda: list(_files(self._places(tenant)))):
            try:
                content = await asyncio.to_thread(path.read_bytes)
            except FileNotFoundError:
                continue  # Deleted meanwhile.
            except OSError as error:
                raise _store_error(path, error) from error
            if path.name == _METADATA:
                content = content.replace(self.root_dir.resolve().as_uri().encode(), b"artifact:/")
            yield UserFile(path.relative_to(place).as_posix(), content)

    def restore(self, tenant: Tenant, name: str, content: bytes, *, at: int) -> None:
        """Write a piece of a file of `export`, of which `at` bytes are there; blocks.

        Raises InputError for a path that is none of the user's, StoreError.
        """
        place = self._own(tenant).resolve()
        path = (place / name).resolve()
        if not path.is_relative_to(place):
            raise InputError(f"file {name!r} of user {tenant.user!r} is not below their directory")
        if path.name == _METADATA:
            own = self.root_dir.resolve().as_uri().encode()
            content = content.replace(b'"artifact:/apps/', b'"' + own + b"/apps/")
        make_directory(self.root_dir)
        make_directory(path.parent)
        try:
            with path.open("ab" if at else "wb") as file:
                file.write(content)
        except OSError as error:
            raise _store_error(path, error) from error

    def _base_root(self, app_name: str, user_id: str) -> Path:
        # ADK calls this for every path. Checked by ADK, then escaped.
        super()._base_root(app_name, user_id)
        return self._own(Tenant(app_name, user_id))

    def _artifact_dir(
        self, app_name: str, user_id: str, session_id: str | None, filename: str
    ) -> tuple[Path, Path]:
        # ADK calls this for each file name, and refuses those that leave the directory.
        if session_id is not None:
            _check_name(session_id, "session id")
        _check_name(filename, "artifact filename")
        return super()._artifact_dir(app_name, user_id, session_id, filename)

    def _build_artifact_version(
        self, *, artifact_dir: Path, version: int, metadata: FileArtifactVersion | None
    ) -> ArtifactVersion:
        # ADK's URI is the path of the file; a client gets only its place in the store.
        built = super()._build_artifact_version(
            artifact_dir=artifact_dir, version=version, metadata=metadata
        )
        place = artifact_dir.relative_to(self.root_dir.resolve()).as_posix()
        built.canonical_uri = f"artifact://{place}/versions/{version}"
        return built

    def _own(self, tenant: Tenant) -> Path:
        return self.root_dir / "apps" / part(tenant.app) / "users" / part(tenant.user)

    def _apps(self, user: str) -> set[str]:
        own = self.root_dir.glob("apps/*/users")
        apps = {unquote(path.parent.name) for path in own if (path / part(user)).is_dir()}
        if _is_plain(user):
            beside = (users for root in self._beside() for users in root.glob("apps/*/users"))
            apps |= {users.parent.name for users in beside if (users / user).is_dir()}
        return {app for app in apps if any(_files(self._places(Tenant(app, user))))}

    def _places(self, tenant: Tenant, session: str | None = None) -> Sequence[Path]:
        """The user's directories, or those of a session."""
        places = [self._own(tenant)]
        if _is_plain(tenant.app) and _is_plain(tenant.user):
            places += [
                root / "apps" / tenant.app / "users" / tenant.user for root in self._beside()
            ]
        if session is None:
            return places
        if not _is_plain(session):
            return []
        return [place / "sessions" / session for place in places]

    def _beside(self) -> Iterator[Path]:
        """Where ADK itself stores the artifacts of apps."""
        if self._agents is not None:
            for pattern in _BESIDE_AGENTS:
                yield from self._agents.glob(pattern)

    def _erase(self, tenant: Tenant, session: str | None) -> int:
        places = self._places(tenant, session)
        count = sum(1 for _ in _files(places))
        for place in places:
            try:
                shutil.rmtree(place)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _store_error(place, error) from error
        return count


def _files(places: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Every file below some directories, with the directory."""
    for place in places:
        for path in sorted(place.rglob("*")):
            if path.is_file():
                yield place, path


def _check_name(name: str, what: str) -> None:
    """Raise InputValidationError for a name that file systems refuse."""
    size = len(name.encode(errors="replace"))
    longest = max(len(piece.encode(errors="replace")) for piece in re.split(r"[/\\]", name))
    if longest >= _LONGEST_NAME or size > _LONGEST_PATH:
        raise InputValidationError(
            f"the {what} is too long: at most {_LONGEST_NAME - 1} bytes are allowed between two "
            f"slashes, and {_LONGEST_PATH} in all"
        )
    if "\0" in name or not _is_utf8(name):
        raise InputValidationError(f"the {what} holds a NUL character, or is not valid Unicode")


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(name: str) -> bool:
    """Whether a name is a single path component, as ADK wrote it."""
    longest = len(name.encode(errors="replace")) < _LONGEST_NAME
    return longest and name not in {"", ".", ".."} and not set(name) & {"/", "\0"}


def _store_error(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"artifacts in {path} cannot be read or written ({error.strerror}); make the directory "
        "writable for this program"
    )


class InMemoryFiles(InMemoryArtifactService):
    """ADK's artifact service, and the UserFiles behind it; lost at exit."""

    async def apps(self, user: str) -> set[str]:
        """The apps in which a user has files."""
        named = (path.split("/", 2) for path in self.artifacts)
        return {app for app, owner, _ in named if owner == user}

    async def count(self, tenant: Tenant) -> int:
        """How many files the user has."""
        return sum(len(self.artifacts[path]) for path in self._of(tenant))

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's files (of one session); return how many."""
        return sum(len(self.artifacts.pop(path)) for path in self._of(tenant, session))

    async def export(self, tenant: Tenant) -> AsyncIterator[UserFile]:
        """Every file of the user with its metadata, one at a time."""
        for path in self._of(tenant):
            name = path.split("/", 2)[2]
            for entry in self.artifacts[path]:
                number, data = entry.artifact_version.version, entry.data
                noted = entry.artifact_version.model_dump_json(by_alias=True, exclude_none=True)
                blob = data.inline_data.data if data.inline_data else None
                text = data.model_dump_json(exclude_none=True) if data.text is None else data.text
                yield UserFile(f"{name}/{number}", text.encode() if blob is None else blob)
                yield UserFile(f"{name}/{number}/metadata.json", noted.encode())

    def _of(self, tenant: Tenant, session: str | None = None) -> list[str]:
        """ADK's keys, which are app/user/session/name, or app/user/user/user:name."""
        prefix = f"{tenant.app}/{tenant.user}/" + ("" if session is None else f"{session}/")
        paths = (path for path in self.artifacts if path.startswith(prefix))
        shared = f"{tenant.app}/{tenant.user}/user/user:"
        return sorted(path for path in paths if session is None or not path.startswith(shared))


_ARTIFACTS: Final = "adk_artifacts"
"""The directory of users' own files in the data directory."""


def open_artifacts(settings: Settings) -> FileArtifacts | InMemoryFiles:
    """Files below the data directory, or in memory with the stores. Does no I/O."""
    if settings.store == "memory":
        return InMemoryFiles()
    return FileArtifacts(settings.data_dir / _ARTIFACTS, agents=settings.agent_dir)


def artifact_service(files: UserFiles) -> BaseArtifactService:
    """The files of a container as ADK's service. Raises ConfigError when they are not one."""
    if isinstance(files, BaseArtifactService):
        return files
    raise ConfigError(f"{type(files).__name__} is not an ADK artifact service")


def memory_service(container: Container) -> ArtifactMemoryService:
    """The artifacts of a container as ADK's memory."""
    return ArtifactMemoryService(container.artifacts, container.clock, zone=container.settings.zone)
