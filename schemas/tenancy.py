"""Keys that separate apps, users and sessions in every store."""

from typing import NamedTuple


class Tenant(NamedTuple):
    """One user of one app; part of every key and every query."""

    app: str
    user: str


class SessionKey(NamedTuple):
    """One session of one user of one app."""

    app: str
    user: str
    session: str

    @property
    def tenant(self) -> Tenant:
        """The owner of the session."""
        return Tenant(self.app, self.user)


class PlaybookScope(NamedTuple):
    """Whose playbook: an app's (user is None) or one user's of it; '' is the main branch."""

    app: str
    user: str | None = None
    branch: str = ""
