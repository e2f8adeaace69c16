"""A seccomp filter for bubblewrap: system calls that no limit bounds, or that lead out, fail.

Memory that is shared through the kernel counts for no rlimit; sockets such as those of virtual
machines are in no namespace. The rest makes the kernel's surface smaller.
"""

import struct
from typing import Final

from acc_ace.errors import ConfigError

# The architecture as the kernel names it; then socket, socketpair, shmget, msgget, semget, mq_open,
# memfd_create, memfd_secret, ptrace, add_key, request_key, keyctl, perf_event_open, bpf,
# userfaultfd, io_uring_setup, unshare, setns, mount.
_X86: Final = "c000003e 41 53 29 68 64 240 319 447 101 248 249 250 298 321 323 425 272 308 165"
_ARM: Final = "c00000b7 198 199 194 186 190 180 279 447 117 217 218 219 241 280 282 425 97 268 40"
_DENIED: Final = {"x86_64": _X86, "aarch64": _ARM}
"""By the machine, as `platform.machine()` says it."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001
"""The second makes a call fail with EPERM."""


def seccomp_filter(machine: str) -> bytes:
    """The filter as bubblewrap reads it. Raises ConfigError for an unknown machine."""
    if machine not in _DENIED:
        raise ConfigError(f"the playground knows no system calls of {machine!r}: leave it off")
    architecture, *denied = _DENIED[machine].split()
    # From 0x40000000 on x86-64 has its calls a second time.
    tests = [(_AT_LEAST, 0x40000000), *((_EQUAL, int(number)) for number in denied)]
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 0, len(tests) + 2, int(architecture, 16)),
        (_LOAD, 0, 0, 0),
        *((code, len(tests) - at, 0, value) for at, (code, value) in enumerate(tests)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
