"""Ids of ADK's events and invocations that sort by time: UUIDs of version 7 (RFC 9562).

ADK's own are random (version 4). Two indexes of events and one of evidence have them as keys, so
each row goes to another page, and the longer a session, the fewer rows share a page that must be
written: at 10,000 turns a third more bytes a turn than at 100. Keys that sort by time go to the
end of an index, whatever its size.
"""

import secrets
import threading
import time
import uuid

from google.adk.platform import uuid as adk_ids

_FRACTION_BITS = 12
_RANDOM_BITS = 62
_VERSION = 7
_VARIANT = 0b10
_NS_A_MS = 1_000_000


class TimeOrderedIds:
    """Makes ids that are unique among all processes; each sorts after all before it.

    48 bits of milliseconds, 12 of their fraction (RFC 9562, section 6.2, method 3), 62 random.
    """

    def __init__(self) -> None:
        self._last = 0
        self._mutex = threading.Lock()

    def __call__(self, *, now_ns: int | None = None) -> str:
        """A new id, at `now_ns` nanoseconds since 1970 (None: now)."""
        tick = ((time.time_ns() if now_ns is None else now_ns) << _FRACTION_BITS) // _NS_A_MS
        with self._mutex:
            # A clock that stands still or goes backwards does not bring the order back.
            self._last = tick = max(tick, self._last + 1)
        milliseconds, fraction = tick >> _FRACTION_BITS, tick & ((1 << _FRACTION_BITS) - 1)
        high = milliseconds << 16 | _VERSION << _FRACTION_BITS | fraction
        return str(uuid.UUID(int=high << 64 | _VARIANT << 62 | secrets.randbits(_RANDOM_BITS)))


_ids = TimeOrderedIds()


def use_time_ordered_ids() -> None:
    """Let ADK give such ids in the caller's context: this task, and the tasks that it begins.

    A provider that the program itself gave to ADK (to replay a run, say) stays.
    """
    # ADK has a public way to set the provider, and none to see whether one was set. An ADK that
    # keeps it elsewhere goes on with its random ids: more bytes a turn, nothing else.
    given = getattr(adk_ids, "_id_provider_context_var", None)
    default = getattr(adk_ids, "_default_id_provider", None)
    if given is not None and default is not None and given.get() is default:
        adk_ids.set_id_provider(_ids)
