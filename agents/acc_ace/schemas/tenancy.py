"""Keys that separate apps, users and sessions in every store."""

from typing import Final, NamedTuple

OWN_APP: Final = "acc_ace"
"""The name of this product's own app; another app has its memory by the plugin."""


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
    """Owner and branch of a playbook: the app's (user is None) or a user's; '' is main."""

    app: str
    user: str | None = None
    branch: str = ""
