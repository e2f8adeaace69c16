"""Whether a process has ended is said only when it is certain."""

import os
import subprocess
import sys

from core.adapters.process_identity import is_gone, this_process


def test_this_process_is_not_gone() -> None:
    assert not is_gone(this_process())


def test_a_process_that_ended_is_gone() -> None:
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    host = this_process().split("|")[0]
    assert is_gone(f"{host}|{int(child.stdout)}|")


def test_a_process_id_that_was_given_again_is_gone() -> None:
    host, pid, started = this_process().split("|")
    assert is_gone(f"{host}|{pid}|{started}0") == bool(started)


def test_a_process_of_another_machine_is_never_called_gone() -> None:
    assert not is_gone(f"elsewhere.example|{2**22 + 5}|1")


def test_junk_is_never_called_gone() -> None:
    assert not any(map(is_gone, ["", "|", "a|b|c", f"{os.uname().nodename}|x|", "uuid-only"]))
