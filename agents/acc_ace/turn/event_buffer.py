"""The events of a running turn, where the session service holds them back until its commit."""

from typing import Any, Protocol

from acc_ace.unit_of_work import Write


class HeldEvents(Protocol):
    """What one run has appended to its session and not yet stored."""

    @property
    def is_open(self) -> bool:
        """Whether it is neither written nor discarded yet."""
        ...

    def write(self, *ahead: Any) -> Write:  # noqa: ANN401 - events of a framework
        """The write of all that is held, and of events that the run will append next."""
        ...

    def written(self) -> None:
        """Note that the commit took place: what the run appends now is stored at once."""
        ...

    def discard(self) -> None:
        """Drop what is held, and what the run still appends: the turn has failed."""
        ...
