"""Between which times artifacts are looked for."""

from datetime import datetime
from typing import NamedTuple, Self

from acc_ace.text.dates.periods import Period

_FAR_PAST, _FAR_FUTURE = -1e12, 1e12


class Times(NamedTuple):
    """From `start` until just before `end`, in seconds since 1970."""

    start: float
    end: float

    @classmethod
    def of(cls, before: datetime | None, period: Period | None = None) -> Self:
        """The times before a moment and within a period, where they are given."""
        ends = [before, period.end if period else None]
        return cls(
            period.start.timestamp() if period else _FAR_PAST,
            min((end.timestamp() for end in ends if end is not None), default=_FAR_FUTURE),
        )

    @property
    def has_start(self) -> bool:
        """Whether anything is too old."""
        return self.start > _FAR_PAST

    @property
    def has_end(self) -> bool:
        """Whether anything is too new."""
        return self.end < _FAR_FUTURE
