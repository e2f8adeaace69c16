"""ADK's artifacts in memory, where a user's are found and erased."""

from collections.abc import AsyncIterator

from google.adk.artifacts import InMemoryArtifactService

from acc_ace.schemas.base import Tenant
from acc_ace.turn.ports import UserFile


class InMemoryFiles(InMemoryArtifactService):
    """ADK's artifact service, and the UserFiles behind it; forgets at exit."""

    async def apps(self, user: str) -> set[str]:
        """The apps that a user has files of."""
        named = (path.split("/", 2) for path in self.artifacts)
        return {app for app, owner, _ in named if owner == user}

    async def count(self, tenant: Tenant) -> int:
        """How many files the user has."""
        return sum(len(self.artifacts[path]) for path in self._of(tenant))

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's files (of one session); how many."""
        return sum(len(self.artifacts.pop(path)) for path in self._of(tenant, session))

    async def export(self, tenant: Tenant) -> AsyncIterator[UserFile]:
        """Every file of the user with what is noted about it, one at a time."""
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
        """Keys of ADK's, which are app/user/session/name, or app/user/user/user:name."""
        prefix = f"{tenant.app}/{tenant.user}/" + ("" if session is None else f"{session}/")
        found = (path for path in self.artifacts if path.startswith(prefix))
        shared = f"{tenant.app}/{tenant.user}/user/user:"
        return sorted(path for path in found if session is None or not path.startswith(shared))
