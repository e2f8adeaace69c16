"""Order of authority, enforced by the commit gate."""

from enum import StrEnum


class Authority(StrEnum):
    """Origin of a text, strongest first: system > user > tool > retrieved > agent."""

    SYSTEM = "system"
    USER = "user"
    TOOL = "tool"
    RETRIEVED = "retrieved"
    AGENT = "agent"

    @property
    def rank(self) -> int:
        """4 for system down to 0 for agent."""
        return _RANK[self]

    @property
    def may_rule(self) -> bool:
        """Whether words of this authority may create, amend or release constraints and goal."""
        return self.rank >= _RANK[Authority.USER]


_RANK: dict[Authority, int] = {
    authority: rank for rank, authority in enumerate(reversed(list(Authority)))
}
