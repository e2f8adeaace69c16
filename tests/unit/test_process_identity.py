"""Whether a process has ended is said only when it is certain."""

import os
import subprocess
import sys
from pathlib import Path

from core.adapters.process_identity import is_gone, this_process


def test_this_process_is_not_gone() -> None:
    assert not is_gone(this_process())


def test_a_process_that_ended_is_gone() -> None:
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    place = this_process().split("|")[0]
    assert is_gone(f"{place}|{int(child.stdout)}|")


def test_a_process_id_that_was_given_again_is_gone() -> None:
    place, pid, started = this_process().split("|")
    assert is_gone(f"{place}|{pid}|{started}0") == bool(started)


def test_a_process_of_another_machine_is_never_called_gone() -> None:
    assert not is_gone(f"elsewhere.example|{2**22 + 5}|1")


def test_the_namespace_of_process_ids_is_part_of_the_place() -> None:
    namespace = this_process().split("|")[0].partition("#")[2]
    link = Path("/proc/self/ns/pid")
    assert namespace == (str(link.readlink())[len("pid:[") : -1] if link.exists() else "")


def test_a_process_of_another_container_with_the_same_host_name_is_never_called_gone() -> None:
    place, pid, started = this_process().split("|")
    host, _, namespace = place.partition("#")
    assert not is_gone(f"{host}#{namespace}0|{2**22 + 5}|1")
    assert not is_gone(f"{host}#{namespace}0|{pid}|{started}0")
    # As an older version named a process: its namespace is not known.
    assert not is_gone(f"{host}|{2**22 + 5}|1")


def test_junk_is_never_called_gone() -> None:
    assert not any(map(is_gone, ["", "|", "a|b|c", f"{os.uname().nodename}|x|", "uuid-only"]))
