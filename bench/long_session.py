"""What the pages of a session of 100,000 turns take: time and bytes of each answer, by length.

python -m bench.long_session [--turns 100000]

The server runs in this process, over SQLite; each answer is read seven times, the median counts.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.app import create_app
from tests.fakes.long_session import lengthen
from tests.fakes.loopback import served

BASE: Final = "/v1/sessions/long"
TIMES: Final = 7
FEW: Final = 1_000


def pages(turns: int) -> dict[str, str]:
    """What the cockpit asks for, by name, at the newest turn and in the middle."""
    middle = turns // 2
    return {
        "the session": BASE,
        "its state": f"{BASE}/ccs",
        "its rules": f"{BASE}/rules",
        "newest 50 turns": f"{BASE}/turns?limit=50",
        "50 turns in the middle": f"{BASE}/turns?limit=50&before={middle}",
        "a version in the middle": f"{BASE}/ccs/versions/{middle}",
        "20 versions in the middle": f"{BASE}/ccs/history?limit=20&before={middle}",
        "cost, newest 200 turns": f"{BASE}/cost?limit=200",
        "100 events in the middle": f"/events?session=long&after={middle}",
        "list of sessions": "/v1/sessions",
        "metrics": "/metrics",
    }


def measure(turns: int) -> dict[str, tuple[float, int]]:
    """Milliseconds and bytes of each page of a session of so many turns."""
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        settings = Settings(data_dir=Path(folder), serve_web_interface=False)
        app = create_app(build_container(settings))
        with served(app) as url, httpx.Client(base_url=url, timeout=120) as http:
            for text in ("Never restart db-01 during business hours.", "Aiko leads."):
                http.post(f"{BASE}/turns", json={"input": text}).raise_for_status()
            lengthen(Path(folder) / "memory.db", "long", turns)
            return {name: _page(http, path) for name, path in pages(turns).items()}


def _page(http: httpx.Client, path: str) -> tuple[float, int]:
    took, size = [], 0
    for _ in range(TIMES):
        begin = time.perf_counter()
        answer = http.get(path).raise_for_status()
        took.append(1_000 * (time.perf_counter() - begin))
        size = len(answer.content)
    return statistics.median(took), size


def show(lengths: Sequence[int]) -> None:
    """Print a table: time and bytes by page and length."""
    found = [measure(turns) for turns in lengths]
    print(f"| ms, kB | {' | '.join(f'{turns:,} turns' for turns in lengths)} |")
    print("|---|" + "---:|" * len(lengths))
    for name in found[0]:
        cells = [f"{each[name][0]:.1f}, {each[name][1] / 1_000:.1f}" for each in found]
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=100_000)
    show((FEW, parser.parse_args().turns))


if __name__ == "__main__":
    main()
