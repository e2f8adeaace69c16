"""The budgets of the house: what holds today, each with the goal beside it.

Growth is a decision: whoever raises a number does so in the commit that needs it, with the reason;
whoever makes one smaller lowers it there. A feature names its budget here. What a number counts is
said in `bench.house_code`, `bench.house_record` and `bench.house_trace`.
"""

import json
import subprocess
import sys
from graphlib import TopologicalSorter
from typing import Final, NamedTuple

import pytest

from bench import house_code, house_record
from bench.house_product import ROOT
from tests.fakes.extensions import needs


class Pin(NamedTuple):
    """A number that holds today, and the one to reach."""

    now: int
    goal: int


PINS: Final = {
    "closure of plugin, modules": Pin(122, 120),
    "closure of plugin, lines": Pin(21_681, 24_000),
    "closure of controller, modules": Pin(126, 120),
    "closure of controller, lines": Pin(22_819, 24_000),
    "closure of commit_gate, modules": Pin(21, 25),
    "closure of commit_gate, lines": Pin(4_069, 4_500),
    "closure of survivor, modules": Pin(175, 160),
    "closure of survivor, lines": Pin(32_492, 31_000),
    "fields of the turn's record": Pin(19, 25),
    "modules that write it": Pin(3, 4),
    "imports from core into ext": Pin(0, 0),
    "language tables": Pin(452, 250),
    "deep tests": Pin(60, 60),
    "code lines": Pin(53_526, 42_500),
    "code lines of the core": Pin(27_434, 23_500),
    "modules that the plugin loads": Pin(137, 150),
    "class names defined twice": Pin(0, 0),
    "participles as names": Pin(889, 500),
    "lines of the longest file": Pin(455, 300),
    "modules of the fullest room": Pin(28, 18),
}
"""What stands in the files."""

TRACED: Final = {
    "files of a turn, embedded": Pin(172, 100),
    "files of a turn, scripted": Pin(176, 100),
    "functions of a turn, embedded": Pin(1_545, 750),
    "functions of a turn, scripted": Pin(1_573, 750),
    "calls between rooms, embedded": Pin(876, 500),
    "calls between rooms, scripted": Pin(765, 500),
    "stays of a delta": Pin(12, 12),
    "returns of a delta": Pin(1, 3),
    "stores with a sentence": Pin(5, 4),
    "transactions that write": Pin(3, 3),
}
"""What a turn does."""

EXTENSIONS: Final = {
    # code lines of each
    "background": 1_164,
    "coding_agents": 717,
    "conformance": 243,
    "documents": 816,
    "embedded": 1_430,
    "guard": 1_622,
    "lab": 3_605,
    "mcp": 438,
    "openai_compatible": 522,
    "playbook_files": 755,
    "postgres": 1_193,
    "reruns": 270,
    "sandbox": 1_024,
    "semantic": 963,
    "strategies": 140,
    "survivor": 3_874,
}

LOADED: Final = """
import sys
import acc_ace.plugin
print(*(name for name in sys.modules if name == "acc_ace" or name.startswith("acc_ace.")))
"""


def over(pins: dict[str, Pin], measured: dict[str, int]) -> dict[str, int]:
    """What is larger than it may be."""
    return {name: measured[name] for name, pin in pins.items() if measured[name] > pin.now}


def printed(*command: str) -> str:
    run = subprocess.run(  # noqa: S603 - our own
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
        cwd=ROOT,
    )
    return run.stdout


@pytest.fixture(scope="module")
def loaded() -> list[str]:
    """The modules that an import of the plugin loads."""
    return printed("-c", LOADED).split()


@needs("survivor")
def test_the_house_keeps_its_budgets(loaded: list[str]) -> None:
    measured = {
        **house_code.numbers(),
        **house_record.numbers(),
        "modules that the plugin loads": len(loaded),
    }
    assert measured["closure of plugin, modules"] > 1
    assert over(PINS, measured) == {}


@pytest.mark.soak
@needs("embedded")
def test_a_turn_keeps_its_budgets() -> None:
    measured = json.loads(printed("-m", "bench.house", "--only", "trace", "--json"))
    assert over(TRACED, measured) == {}


def test_each_extension_keeps_its_budget() -> None:
    rooms = house_code.code_by_room()
    sizes = {room.removeprefix("ext/"): n for room, n in rooms.items() if room.startswith("ext/")}
    assert sizes.keys() <= EXTENSIONS.keys()
    assert {name: lines for name, lines in sizes.items() if lines > EXTENSIONS[name]} == {}


def test_the_embedded_model_is_loaded_when_its_name_is_asked_for(loaded: list[str]) -> None:
    assert "acc_ace.plugin" in loaded
    assert [name for name in loaded if name.startswith("acc_ace.ext.embedded")] == []


def test_no_imports_go_in_a_circle() -> None:
    order = [*TopologicalSorter(house_code.imports()).static_order()]
    assert order.index("acc_ace.errors") < order.index("acc_ace.plugin")
