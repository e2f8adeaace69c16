"""The budgets of the house: what holds today, each with the size to reach.

Growth is a decision: whoever raises a number does so in a commit of its own, with the reason. A
number that has become too large is lowered in the commit that made it so.
"""

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import grimp
import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = "acc_ace"

LINES: Final = 71_346  # target 35,000
FILES: Final = 460  # target 220
MODULES_IN_A_ROOM: Final = 20  # target 18
LINES_IN_A_FILE: Final = 469  # target 300
FILES_OVER_THE_TARGET: Final = 31  # target 0
TARGET_LINES_IN_A_FILE: Final = 300
MEDIAN_LINES: Final = 100
IMPORT_CHAIN: Final = 23  # target 14
MODULES_BEHIND_THE_PLUGIN: Final = 204  # target 150
SAME_NAME: Final = 2
TURN_FILES: Final = 159  # target 90
TURN_WRITES: Final = 4

ROOMS: Final = {
    # room: lines that hold today
    "adk": 7277,
    "cli": 4963,
    "cockpit": 1043,
    "core": 16533,
    "ext": 18601,
    "memory": 1587,
    "models": 2501,
    "server": 4646,
    "storage": 5771,
    "turn": 4647,
}

LOADED: Final = """
import sys
import acc_ace.plugin
print(*(name for name in sys.modules if name == "acc_ace" or name.startswith("acc_ace.")))
"""


@cache
def production() -> dict[Path, int]:
    """Every file of production code, SQL included, and its lines."""
    found = [
        path
        for folder in ("agents", "schemas")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".sql"} and "__pycache__" not in path.parts
    ]
    found += [ROOT / "config.py", ROOT / "main.py"]
    return {path: len(path.read_text(encoding="utf-8").splitlines()) for path in found}


@cache
def modules() -> list[Path]:
    """The Python modules among them; a package's own `__init__` is none."""
    return [path for path in production() if path.suffix == ".py" and path.stem != "__init__"]


def test_the_whole_keeps_its_budget() -> None:
    assert sum(production().values()) <= LINES
    assert len(production()) <= FILES


def test_each_room_keeps_its_budget() -> None:
    package = ROOT / "agents" / PACKAGE
    sizes = Counter[str]()
    for path, lines in production().items():
        if path.is_relative_to(package) and len(path.relative_to(package).parts) > 1:
            sizes[path.relative_to(package).parts[0]] += lines
    assert sizes.keys() == ROOMS.keys()
    over = {room: size for room, size in sizes.items() if size > ROOMS[room]}
    assert over == {}


@pytest.mark.soak
def test_a_turn_enters_few_files_and_writes_in_few_transactions() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "bench.house", "--only", "trace", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
        cwd=ROOT,
    )
    files, transactions = json.loads(run.stdout).values()
    assert max(map(int, files.split(" / "))) <= TURN_FILES
    assert int(transactions.split(" of ")[0]) <= TURN_WRITES


def test_no_room_has_more_modules_than_one_can_know() -> None:
    room, size = Counter(path.parent for path in modules()).most_common(1)[0]
    assert size <= MODULES_IN_A_ROOM, room


def test_no_file_is_too_long_and_few_are_tiny() -> None:
    sizes = sorted(production().values())
    longest = max(production(), key=lambda path: production()[path])
    assert sizes[-1] <= LINES_IN_A_FILE, longest
    over = [path for path, lines in production().items() if lines > TARGET_LINES_IN_A_FILE]
    assert len(over) <= FILES_OVER_THE_TARGET, over
    assert sizes[len(sizes) // 2] >= MEDIAN_LINES


def test_no_module_name_is_met_again_and_again() -> None:
    name, times = Counter(path.name for path in modules()).most_common(1)[0]
    assert times <= SAME_NAME, name


def test_import_chains_are_short() -> None:
    chain = longest_chain(import_graph())
    assert len(chain) <= IMPORT_CHAIN, " > ".join(chain)


def test_the_plugin_loads_what_it_needs() -> None:
    run = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=120
    )
    loaded = run.stdout.split()
    assert "acc_ace.plugin" in loaded
    assert len(loaded) <= MODULES_BEHIND_THE_PLUGIN
    # The embedded model is loaded when its name is asked for.
    assert [name for name in loaded if name.startswith("acc_ace.ext.embedded")] == []


@pytest.mark.parametrize(
    ("imports", "chain"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, ["a", "b", "c"]),
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, ["a", "b", "c"]),
        ({"a": set()}, ["a"]),
    ],
)
def test_the_longest_chain_is_the_longest(imports: dict[str, set[str]], chain: list[str]) -> None:
    assert longest_chain(imports) == chain


def test_a_circle_of_imports_is_refused() -> None:
    with pytest.raises(AssertionError, match="circle"):
        longest_chain({"a": {"b"}, "b": {"a"}})


def import_graph() -> dict[str, set[str]]:
    """What each module imports when it is loaded; public names that load lazily have no part."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    names = graph.modules - {PACKAGE}
    return {
        name: {
            other
            for other in graph.find_modules_directly_imported_by(name) & names
            if is_loaded_with(graph, name, other)
        }
        for name in names
    }


def is_loaded_with(graph: grimp.ImportGraph, importer: str, imported: str) -> bool:
    """Whether a module is imported at once, and not when a function is called."""
    path = ROOT / "agents" / importer.replace(".", "/")
    package = path / "__init__.py"
    file = package if package.is_file() else path.with_suffix(".py")
    lines = file.read_text(encoding="utf-8").splitlines()
    details = graph.get_import_details(importer=importer, imported=imported)
    return any(not lines[detail["line_number"] - 1].startswith(" ") for detail in details)


def longest_chain(imports: dict[str, set[str]]) -> list[str]:
    """The longest chain of imports, from its first module to its last."""
    known: dict[str, list[str]] = {}

    def chain(name: str, above: tuple[str, ...]) -> list[str]:
        assert name not in above, f"a circle of imports: {[*above, name]}"
        if name not in known:
            below = (chain(other, (*above, name)) for other in sorted(imports[name]))
            known[name] = [name, *max(below, key=len, default=[])]
        return known[name]

    return max((chain(name, ()) for name in sorted(imports)), key=len)
