"""Which playbook a command is about, as its options name it."""

from typing import NamedTuple


class Place(NamedTuple):
    """A user's own playbook or, without a user, the one that chats use; and its branch."""

    user: str | None = None
    branch: str | None = None
