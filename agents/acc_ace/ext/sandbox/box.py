"""Run a Python script in bubblewrap: no network, nothing to write to but a small memory disk.

The script is the first process of its namespace, so that the kernel kills its children when it
ends. It sees the programs and libraries of `/usr`, read-only, but none of `/usr/local`, and no
`/proc`. What it prints is all that comes back.
"""

import os
import platform
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from acc_ace.errors import ConfigError
from acc_ace.ext.sandbox.bounded_process import Cancel, Job, file_of, in_thread, run
from acc_ace.ext.sandbox.seccomp import seccomp_filter
from acc_ace.model_settings import PlaygroundSettings

SETTING: Final = "ACC_ACE_PLAYGROUND__"

MOST_OUTPUT: Final = 64 * 1024
"""Bytes that a script may print."""

_DISK: Final = 8 * 1024 * 1024
_NOBODY: Final = 65_534
"""Who a script is when this process is root, for whom limits of processes do not count."""

_SANDBOX: Final = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--as-pid-1", "--clearenv", "--cap-drop", "ALL", "--hostname", "playground"),
    *("--ro-bind", "/usr/bin", "/usr/bin", "--ro-bind", "/usr/lib", "/usr/lib", "--ro-bind-try"),
    *("/usr/lib64", "/usr/lib64", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64"),
    *("/lib64", "--dev", "/dev", "--remount-ro", "/dev", "--size", str(_DISK), "--tmpfs", "/tmp"),  # noqa: S108 - its own
)

_LAUNCH: Final = """
import resource, sys
limits = {"CPU": 5, "AS": 2**28, "NPROC": 8, "FSIZE": 2**22, "NOFILE": 32, "CORE": 0}
for name, most in limits.items():
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
source = open("/script.py", encoding="utf-8").read()  # as it was reviewed, whatever its cookie says
exec(compile(source, "script.py", "exec"), {"__name__": "__main__"})
"""
"""What the interpreter runs: limits (seconds, bytes, processes, files), then the script."""

_TRIAL: Final = b"""
import contextlib, os, socket
with contextlib.suppress(PermissionError):
    print(socket.socket())
places = ("/", "/usr", "/usr/local", "/dev", "/dev/shm", "/script.py")
print([path for path in places if os.access(path, os.W_OK)], os.listdir("/").count("proc"))
"""
_HOLDS: Final = "[] 0\n"
"""What a sandbox that holds makes of it: no socket, no place to write to, no processes."""


class Ran(NamedTuple):
    """What a script printed, and why it did not end well; '' when it did."""

    text: str
    why: str


class Box:
    """The sandbox of the settings."""

    def __init__(self, settings: PlaygroundSettings) -> None:
        self._settings = settings

    async def require(self) -> None:
        """Try it with a script that looks for ways out. ConfigError says why it is off."""
        if not self._settings.command:
            raise ConfigError(f"the playground is off: set {SETTING}COMMAND=bwrap (bubblewrap)")
        if (ran := await self.run(_TRIAL)) != (_HOLDS, ""):
            raise ConfigError(
                f"the playground is off, its trial failed: {ran.why or ran.text!r}. "
                f"{SETTING}COMMAND names bubblewrap (apt-get install bubblewrap); it needs user "
                "namespaces and python3"
            )

    async def run(self, source: bytes, stdin: bytes = b"") -> Ran:
        """Run a script; where bubblewrap cannot be started, that is why it did not end well."""
        return await in_thread(partial(self.run_now, source, stdin))

    def run_now(self, source: bytes, stdin: bytes, cancel: Cancel) -> Ran:
        """The same for a caller that is no coroutine."""
        with file_of(source) as script, file_of(seccomp_filter(platform.machine())) as calls:
            inside = ("--ro-bind-data", str(script), "/script.py", "--seccomp", str(calls))
            rest = ("--remount-ro", "/", "--chdir", "/tmp", "--", "/usr/bin/python3")  # noqa: S108
            job = Job(
                (self._settings.command, *_SANDBOX, *inside, *rest, "-I", "-S", "-c", _LAUNCH),
                self._settings.seconds,
                MOST_OUTPUT,
                stdin=stdin,
                cwd=Path("/"),
                files=(script, calls),
                user=None if os.geteuid() else _NOBODY,
            )
            try:
                end = run(job, cancel)
            except OSError as error:
                return Ran("", f"{job.command[0]!r} cannot be run ({error}; {SETTING}COMMAND)")
        text = end.stdout[:MOST_OUTPUT].decode("utf-8", "replace")
        code = f"exit code {end.code}: {end.complaint}" if end.code else ""
        most = f"{SETTING}SECONDS allows" if end.killed_for == "seconds" else "it may"
        return Ran(text, f"it took more {end.killed_for} than {most}" if end.killed_for else code)
