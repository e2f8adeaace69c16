"""The house in numbers: what one must read, what a turn calls and writes, and what it costs.

    python -m bench.house [--turns 1000] [--plugin-turns 400] [--runs 5] [--only ROW ...] [--json]

Rows: code, record, rooms, trace, cpu, app-bytes, plugin-bytes, startup. Each is measured in a
process of its own, with default settings over SQLite and models that answer at once. What a number
of the first rows counts is said where it is counted: `bench.house_code`, `bench.house_record`,
`bench.house_profile`, `bench.house_copies`. Bytes written are those handed to the kernel
(`wchar`), in kB of 1,024 bytes; CPU time is that of the process.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bench import house_code, house_record
from bench.house_cost import Written, app_bytes, own_cpu, plugin_bytes
from bench.house_startup import startup
from bench.house_trace import numbers_of_a_turn

FIRST_MARK = 10


class Options(NamedTuple):
    """How much is measured."""

    turns: int
    plugin_turns: int
    runs: int


Cells = dict[str, str | int]
"""What was measured, and its value, as the table shows both."""


def code_row(_options: Options) -> Cells:
    """Closures, imports, language tables, tests and code lines."""
    return {**house_code.numbers()}


def record_row(_options: Options) -> Cells:
    """The record of a running turn."""
    return {**house_record.numbers()}


def rooms_row(_options: Options) -> Cells:
    """Code lines of each room, the largest first."""
    rooms = house_code.code_by_room().most_common()
    return {f"code lines of {room or 'the top'}": lines for room, lines in rooms if lines}


def trace_row(_options: Options) -> Cells:
    """What a turn calls and writes, and the copies that it leaves."""
    return {**numbers_of_a_turn()}


def cpu_row(_options: Options) -> Cells:
    """CPU time of our own."""
    found = asyncio.run(own_cpu())
    cell = f"{found.incident_ms:.1f} / {found.steady_ms:.1f} ms"
    return {"own CPU of a turn, bundled incident / steady workload": cell}


def app_bytes_row(options: Options) -> Cells:
    """Bytes of a turn of the app."""
    found = asyncio.run(app_bytes([FIRST_MARK, options.turns]))
    at = _turns(found)
    return {
        f"bytes written a turn at {at}": _kilobytes([each.written for each in found]),
        f"growth of databases a turn at {at}": _kilobytes([e.databases_grew for e in found]),
        f"growth of other files a turn at {at}": _kilobytes([e.files_grew for e in found]),
    }


def plugin_bytes_row(options: Options) -> Cells:
    """Bytes of a turn of another app, on ADK's SqliteSessionService."""
    found = asyncio.run(plugin_bytes([FIRST_MARK, options.plugin_turns]))
    at = _turns(found)
    return {
        f"the same through the plugin at {at}": _kilobytes([each.written for each in found]),
        f"of these while ADK's SqliteSessionService loads and appends, at {at}": (
            _kilobytes([each.sessions_written for each in found])
        ),
        f"growth of databases through the plugin at {at}": (
            _kilobytes([each.databases_grew for each in found])
        ),
    }


def startup_row(options: Options) -> Cells:
    """Import and first token."""
    found = startup(options.runs)
    return {
        "import of acc_ace.plugin over ADK's runners": (
            f"{found.plugin_ratio:.2f}× ({found.plugin_s:.2f} / {found.runners_s:.2f} s)"
        ),
        "process start to first token over a plain ADK app": (
            f"{found.app_ratio:.2f}× ({found.app_s:.2f} / {found.plain_s:.2f} s)"
        ),
        "the same over the import of ADK's runners": f"{found.app_s / found.runners_s:.2f}×",
    }


ROWS: Mapping[str, Callable[[Options], Cells]] = {
    "code": code_row,
    "record": record_row,
    "rooms": rooms_row,
    "trace": trace_row,
    "cpu": cpu_row,
    "app-bytes": app_bytes_row,
    "plugin-bytes": plugin_bytes_row,
    "startup": startup_row,
}


def _turns(found: list[Written]) -> str:
    return " / ".join(f"{each.turn:,}" for each in found)


def _kilobytes(values: list[float]) -> str:
    return " → ".join(f"{value / 1_024:,.1f}" for value in values) + " kB"


def _in_its_own_process(row: str, options: Options) -> Cells:
    arguments = ["--turns", str(options.turns), "--plugin-turns", str(options.plugin_turns)]
    arguments += ["--runs", str(options.runs), "--child", row]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-W", "ignore", "-m", "bench.house", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    cells: Cells = json.loads(done.stdout.splitlines()[-1])
    return cells


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--plugin-turns", type=int, default=400)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", choices=list(ROWS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    options = Options(given.turns, given.plugin_turns, given.runs)
    if given.child:
        print(json.dumps(ROWS[given.child](options)))
        return
    cells: Cells = {}
    for row in given.only:
        measured = _in_its_own_process(row, options)
        cells |= measured
        if not given.json:
            for name, value in measured.items():
                shown = f"{value:,}" if isinstance(value, int) else value
                print(f"| {name} | {shown} |", flush=True)
    if given.json:
        print(json.dumps(cells))


if __name__ == "__main__":
    main()
