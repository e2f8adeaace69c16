"""Tell whether the process that left something behind is still there."""

import os
import socket
from pathlib import Path


def this_process() -> str:
    """A name for this process: host, process id, and when it started where that is known."""
    pid = os.getpid()
    return f"{socket.gethostname()}|{pid}|{_started(pid)}"


def is_gone(identity: str) -> bool:
    """Whether the named process has certainly ended. False when that cannot be known from here.

    A process id is given again after a while, so the start time is compared where there is one.
    """
    host, separator, rest = identity.rpartition("|")[0].rpartition("|")
    started = identity.rpartition("|")[2]
    if os.name != "posix" or not separator or host != socket.gethostname() or not rest.isdigit():
        return False
    pid = int(rest)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # It is there, and somebody else's.
    return bool(started) and _started(pid) != started


def _started(pid: int) -> str:
    """Start time in clock ticks since boot, on systems that tell it; '' elsewhere."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""
