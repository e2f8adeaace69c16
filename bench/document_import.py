"""Import of one long document and of many records: time, memory, disk.

    python -m bench.document_import [--megabytes 50] [--records 100000] [--json]

The document is Markdown in made-up English words with a Japanese sentence in every paragraph; the
records are JSONL of one sentence each. Each case runs in a process of its own, into a new SQLite
database, then once more unchanged. Memory is the process's peak, and how much of it stood before.
"""

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.base import Tenant
from acc_ace.ext.documents.document_files import DocumentFile, FolderAtFault, document_files
from acc_ace.ext.documents.document_import import import_document
from acc_ace.storage.sqlite.database import DATABASE_FILE

Case = Literal["document", "records"]
_TENANT = Tenant("bench", "user")
_SYLLABLES = ("ka", "lo", "mi", "ren", "tos", "va", "shi", "du", "bar", "nel")
_JAPANESE = (
    "営業時間内の再起動は禁止です。",
    "当番が夜間に確認します。",
    "記録は七日間保存します。",
)


@dataclass(frozen=True)
class Measured:
    """What one import cost."""

    case: str
    megabytes: float
    parts: int
    seconds: float
    cpu_s: float
    again_s: float
    """The same document once more, unchanged."""
    memory_before_mb: float
    memory_peak_mb: float
    disk_mb: float


def main() -> None:
    """Measure both cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--only", choices=get_args(Case), help="measure one, in this process")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(asdict(_measure(options.only, options.megabytes, options.records))))
        return
    measured = [_in_child(case, options) for case in get_args(Case)]
    if options.json:
        print(json.dumps([asdict(item) for item in measured], indent=1))
        return
    print("| case | MB | parts | s | CPU s | again s | MB before | MB peak | disk MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for item in measured:
        print(
            f"| {item.case} | {item.megabytes:.1f} | {item.parts} | {item.seconds:.1f} "
            f"| {item.cpu_s:.1f} | {item.again_s:.2f} | {item.memory_before_mb:.0f} "
            f"| {item.memory_peak_mb:.0f} | {item.disk_mb:.0f} |"
        )


def _in_child(case: Case, options: argparse.Namespace) -> Measured:
    child = subprocess.run(  # noqa: S603 - this very program
        [
            *(sys.executable, "-m", "bench.document_import", "--only", case),
            *("--megabytes", str(options.megabytes), "--records", str(options.records)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return Measured(**json.loads(child.stdout))


def _measure(case: Case, megabytes: float, records: int) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("report.md" if case == "document" else "records.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for text in _document(megabytes) if case == "document" else _records(records):
                file.write(text)
        [source] = document_files([path])
        if isinstance(source, FolderAtFault):
            raise source.error
        return asyncio.run(_import(case, source, Path(folder)))


async def _import(case: Case, source: DocumentFile, folder: Path) -> Measured:
    container = build_container(Settings(store="sqlite", data_dir=folder / "data"))
    before = _peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    done = await import_document(container, _TENANT, source)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    again = time.perf_counter()
    assert (await import_document(container, _TENANT, source)).unchanged
    again = time.perf_counter() - again
    await container.close()
    return Measured(
        case=case,
        megabytes=source.path.stat().st_size / 1e6,
        parts=done.parts,
        seconds=wall,
        cpu_s=cpu,
        again_s=again,
        memory_before_mb=before,
        memory_peak_mb=_peak_mb(),
        disk_mb=(folder / "data" / DATABASE_FILE).stat().st_size / 1e6,
    )


def _document(megabytes: float) -> Iterator[str]:
    draw = random.Random(7)  # noqa: S311 - made-up words, no secret
    words = _words(draw)
    written = section = 0
    while written < megabytes * 1e6:
        section += 1
        paragraphs = "\n\n".join(_paragraph(draw, words) for _ in range(8))
        text = f"## Section {section}\n\n{paragraphs}\n\n"
        written += len(text.encode())
        yield text


def _records(count: int) -> Iterator[str]:
    draw = random.Random(7)  # noqa: S311 - made-up words, no secret
    words = _words(draw)
    for number in range(count):
        record = {"id": f"r{number}", "content": _sentence(draw, words)}
        yield json.dumps(record) + "\n"


def _paragraph(draw: random.Random, words: list[str]) -> str:
    english = " ".join(_sentence(draw, words) for _ in range(6))
    return f"{english} {draw.choice(_JAPANESE)}"


def _sentence(draw: random.Random, words: list[str]) -> str:
    chosen = (words[int(draw.paretovariate(0.9)) % len(words)] for _ in range(14))
    return " ".join(chosen).capitalize() + "."


def _words(draw: random.Random) -> list[str]:
    return ["".join(draw.choices(_SYLLABLES, k=draw.randint(1, 4))) for _ in range(30_000)]


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


if __name__ == "__main__":
    main()
