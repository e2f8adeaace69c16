"""Size of the production code: lines, files, and the folder with the most modules."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.house_product import ROOT

_OTHERS = ("tests", "bench", "docs", "examples")


class Size(NamedTuple):
    """Python and SQL under version control, without tests, benchmarks, documents and examples."""

    lines: int
    files: int
    modules: int
    """Modules that lie flat in the fullest folder."""
    folder: str


def size() -> Size:
    """Count what git knows of this tree."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.sql"],  # noqa: S607 - git, wherever it is
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    names = [Path(name) for name in listed if Path(name).parts[0] not in _OTHERS]
    lines = sum((ROOT / name).read_bytes().count(b"\n") for name in names)
    modules = Counter(
        str(name.parent) for name in names if name.suffix == ".py" and name.stem != "__init__"
    )
    [(folder, most)] = modules.most_common(1)
    return Size(lines, len(names), most, folder)
