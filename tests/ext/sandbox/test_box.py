"""The sandbox: what a script may do in it, and 200 hostile ones that change nothing outside."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path

import pytest

from acc_ace.errors import ConfigError
from acc_ace.ext.sandbox.box import MOST_OUTPUT, Box
from acc_ace.model_settings import PlaygroundSettings
from tests.ext.sandbox.bubblewrap import require_bubblewrap
from tests.ext.sandbox.hostile_scripts import WAYS, WORKED, Target, variants

MARK = "only-the-host-knows-this"
PLACES = ("", "/usr", "/usr/bin", "/etc", "/var", "/dev", "/dev/shm", "/tmp")  # noqa: S108
TRACES = [f"{place}/{name}" for place in PLACES for name in ("new", "way", "own", "0", "63")]
"""Where the scripts would leave something outside, if they could."""


@pytest.fixture(scope="module", autouse=True)
def bubblewrap() -> None:
    require_bubblewrap()


def _pytest_folders(path: Path) -> Iterator[Path]:
    """The folders above a path that pytest has made, with one more where tests run at once."""
    return takewhile(lambda folder: "pytest-" in str(folder), path.parents)


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """A folder that everybody may write to, a listener, and this process."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for path in (outside, *_pytest_folders(outside)):
        path.chmod(0o777)
    (outside / "victim").write_text("whole", encoding="utf-8")
    (outside / "secret").write_text(MARK, encoding="utf-8")
    (outside / "victim").chmod(0o666)
    monkeypatch.setenv("A_SECRET", MARK)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield Target(outside, listener.getsockname()[1], os.getpid())
        with pytest.raises(BlockingIOError):
            listener.accept()


def box(seconds: float = 1.0, command: str = "bwrap") -> Box:
    return Box(PlaygroundSettings(command=command, seconds=seconds))


def strangers() -> set[int]:
    """Processes in other namespaces of processes than this one's."""
    own, found = os.readlink("/proc/self/ns/pid"), set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/pid") != own:
                found.add(int(pid))
        except OSError:
            continue
    return found


def ours() -> set[int]:
    """Strangers that this process has started, and orphans.

    Other tests may run scripts at the same time.
    """
    found, ours = strangers(), set()
    for pid in found:
        above = set(_ancestors(pid)) - {1}
        if os.getpid() in above or all(each in found or _is_bwrap(each) for each in above):
            ours.add(pid)
    return ours


def _is_bwrap(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8") == "bwrap\n"
    except OSError:
        return True


def _ancestors(pid: int) -> Iterator[int]:
    with suppress(OSError):
        while pid > 1:
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
            pid = int(stat.rpartition(")")[2].split()[1])
            yield pid


def left_behind(before: set[int]) -> set[int]:
    """Strangers that are still there after a while; what the kernel kills takes a moment."""
    for _ in range(100):
        if not (left := ours() - before):
            break
        time.sleep(0.05)
    return left


def seen(outside: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in outside.iterdir()}


async def withstand(target: Target, attack: str, way: str) -> None:
    before, begun = ours(), time.monotonic()
    text, why = await box().run(target.script(attack, way))
    name = f"{attack} {way}: {text[-300:]!r} {why!r}"
    assert time.monotonic() - begun < 10, name
    assert seen(target.outside) == {"victim": "whole", "secret": MARK}, name
    assert not list(filter(os.path.lexists, TRACES)), name
    assert MARK not in text + why, name
    assert len(text) <= MOST_OUTPUT, name
    assert not [word for word in WORKED if word in text], name
    assert all(int(kept.split()[0]) <= 8 * 1024 * 1024 for kept in text.split("KEPT")[1:]), name
    assert left_behind(before) == set(), name


async def test_a_script_reads_its_input_and_prints() -> None:
    source = b"import json, sys; print(sum(json.load(sys.stdin)))"
    assert await box(10).run(source, b"[1, 2, 3]") == ("6\n", "")


async def test_a_script_that_fails_says_how() -> None:
    text, why = await box(10).run(b"print(1)\n1 / 0\n")
    assert text == "1\n"
    assert why.startswith("exit code 1: ")
    assert why.endswith("ZeroDivisionError: division by zero")


async def test_a_script_runs_as_it_was_reviewed_whatever_encoding_it_names() -> None:
    hidden = b"# coding: utf-7\n# +AAo-print(1)\nprint('as read')\n"
    assert await box(10).run(hidden) == ("as read\n", "")


async def test_the_trial_passes_here() -> None:
    await box(10).require()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("", "the playground is off: set ACC_ACE_PLAYGROUND__COMMAND=bwrap"),
        ("no-bwrap-here", "'no-bwrap-here' cannot be run .*COMMAND names bubblewrap"),
        ("true", "its trial failed: ''"),
        ("false", "its trial failed: 'exit code 1: '"),
    ],
)
async def test_without_a_sandbox_that_holds_the_playground_is_off(command: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        await box(10, command).require()


async def test_a_sandbox_that_does_not_hold_is_found_out(tmp_path: Path) -> None:
    leaky = tmp_path / "bwrap"
    leaky.write_text('#!/bin/sh\nfor last; do :; done\nexec /usr/bin/python3 -c "$last"\n', "utf-8")
    leaky.chmod(0o755)
    for path in _pytest_folders(leaky):
        path.chmod(0o777)
    with pytest.raises(ConfigError, match="its trial failed"):
        await box(10, str(leaky)).require()


async def test_a_script_that_runs_can_be_found_and_goes_with_its_run() -> None:
    before = ours()
    run = asyncio.create_task(box(60).run(b"import os\nos.fork()\nwhile True: pass"))
    for _ in range(200):
        await asyncio.sleep(0.02)
        if len(ours()) == 2:
            break
    assert len(ours()) == 2
    begun = time.monotonic()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    # Its own limit of CPU time would end it later.
    assert time.monotonic() - begun < 3
    assert left_behind(before) == set()


LIMITS = {
    "Max cpu time": "5",
    "Max address space": str(256 * 1024 * 1024),
    "Max processes": "8",
    "Max file size": str(4 * 1024 * 1024),
    "Max open files": "32",
    "Max core file size": "0",
}
STATUS = {"NoNewPrivs": "1", "Seccomp": "2"} | dict.fromkeys(("CapEff", "CapPrm", "CapBnd"), "0")


def limits_of(pid: int) -> dict[str, tuple[str, str]]:
    """The soft and the hard limits of a process, as the kernel names them."""
    lines = Path(f"/proc/{pid}/limits").read_text("utf-8").splitlines()
    values = {line[:25].strip(): line[25:].split()[:2] for line in lines}
    return {name: (values[name][0], values[name][1]) for name in LIMITS}


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return dict(line.split(":\t", 1) for line in lines)


async def test_the_kernel_says_from_outside_that_a_script_is_bound() -> None:
    bound = {name: (most, most) for name, most in LIMITS.items()}
    run = asyncio.create_task(box(60).run(b"import time\ntime.sleep(60)"))
    for _ in range(500):
        await asyncio.sleep(0.02)
        inside = ours()
        # A process that only begins may be gone at once.
        with suppress(OSError):
            if len(inside) == 1 and all(limits_of(pid) == bound for pid in inside):
                break
    [pid] = inside
    assert limits_of(pid) == bound
    status = status_of(pid)
    assert {name: status[name].lstrip("0") or "0" for name in STATUS} == STATUS
    own = (os.getuid(), os.getgid()) if os.getuid() else (65_534, 65_534)
    assert (status["Uid"].split(), status["Gid"].split()) == ([str(own[0])] * 4, [str(own[1])] * 4)
    for kind in ("user", "pid", "net", "mnt", "ipc", "uts", "cgroup"):
        assert os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"), kind
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


@pytest.mark.parametrize(("attack", "way"), list(islice(variants(), 26)))
async def test_a_hostile_script_changes_nothing_outside_and_leaves_no_child(
    target: Target, attack: str, way: str
) -> None:
    await withstand(target, attack, way)


@pytest.mark.soak
@pytest.mark.parametrize("way", range(len(WAYS)))
async def test_200_hostile_scripts_change_nothing_outside_and_leave_no_child(
    target: Target, way: int
) -> None:
    tried = list(variants())
    assert len(set(tried)) >= 200
    share = len(tried) // len(WAYS)
    for attack, how in tried[way * share : (way + 1) * share]:
        await withstand(target, attack, how)
