"""`acc-ace analyze`: the measures of a saved run, or of two side by side, as a table or JSON."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from acc_ace.cli.output import (
    Paragraphs,
    json_line,
    named_values,
    printable,
    stderr_console,
    stdout_console,
)
from acc_ace.core.schemas.report import Money
from acc_ace.errors import InputError
from acc_ace.ext.survivor.analysis import analyse
from acc_ace.ext.survivor.chronicle import story
from acc_ace.ext.survivor.snapshots import read_snapshots
from acc_ace.ext.survivor.survival import LoopSnapshot, RunAnalysis

_SHOWN: Final = 12
"""Bad lines, causes and sections shown one by one."""


def run_analyze(run: Path, other: Path | None = None, *, as_json: bool = False) -> None:
    """Analyse a run file and print the measures, or those of two with their differences.

    Bad lines are reported on stderr and left out. Raises StoreError for a file that cannot be
    read, InputError for one of another version or without a tick.
    """
    runs = [_analysed(path) for path in (run, other) if path is not None]
    if as_json:
        whole = [each.model_dump(mode="json") for each in runs]
        differences = {row[0]: row[3] for row in compared(runs[0], runs[-1])}
        print(json_line({"runs": whole, "differences": differences} if other else whole[0]))
    else:
        stdout_console().print(comparison_view(*runs) if other else analysis_view(runs[0]))


def _analysed(path: Path) -> RunAnalysis:
    measured = analyse(_reported(path))
    if not measured.ticks:
        raise InputError(f"{path} holds no tick of a survivor's run")
    return measured


def _reported(run: Path) -> Iterator[LoopSnapshot]:
    """The snapshots of a file; bad lines are reported, the first ones each."""
    bad: list[int] = [0]

    def report(problem: str) -> None:
        bad[0] += 1
        if bad[0] <= _SHOWN:
            stderr_console().print(f"! {problem}", style="yellow", soft_wrap=True)

    yield from read_snapshots(run, report)
    if bad[0] > _SHOWN:
        stderr_console().print(f"! {bad[0]} lines left out in all", style="yellow")


def analysis_view(run: RunAnalysis) -> RenderableType:
    """The learning curve and what became of each life, then the measures as a table."""
    rows = ((printable(name), Paragraphs((text, ""))) for name, text in measures(run))
    return Group(Paragraphs(*((line, "") for line in story(run.newest))), named_values(rows))


Compared = tuple[str, float | None, float | None, float | None]
"""A measure of two runs, and how much more the second has; None where nothing stands behind it."""


def compared(first: RunAnalysis, second: RunAnalysis) -> Iterator[Compared]:
    """Every number of two runs, those of causes among them."""
    for name, value in first:
        its = getattr(second, name)
        if name in {"deaths", "harms"}:
            for cause in dict.fromkeys((*value, *its)):
                one, other = value.get(cause, 0), its.get(cause, 0)
                yield f"{name}: {cause}", one, other, other - one
        elif name != "seed" and isinstance(value, int | float | None):
            yield name, value, its, None if value is None or its is None else its - value


def comparison_view(first: RunAnalysis, second: RunAnalysis) -> RenderableType:
    """The learning curves of two runs, then their measures side by side."""
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_row("", "first", "second", "difference", style="bold")
    for name, one, other, difference in compared(first, second):
        cells = (name.replace("_", " "), _cell(one), _cell(other), _cell(difference, "+"))
        table.add_row(*map(Text, map(printable, cells)))
    curves = (line for run in (first, second) for line in story(run.newest)[:1])
    return Group(Paragraphs(*((line, "") for line in curves)), table)


def _cell(value: float | None, sign: str = "") -> str:
    return "-" if value is None else format(round(value, 3), f"{sign},")


def measures(run: RunAnalysis) -> Iterator[tuple[str, str]]:
    """The measures by name, in words; '-' where nothing stands behind one."""
    values: dict[str, object] = {name: _NOTHING if value is None else value for name, value in run}
    counts = {name: _counts(getattr(run, name)) for name in ("deaths", "harms", "alerts")}
    rewards = _listed(f"{name} {value:+.3f}" for name, value in run.rewards.items())
    cost = "unknown" if run.usd is None else Money(usd=run.usd)
    values |= {**counts, "rewards": rewards, "usd": cost, "model": run.model or "no model named"}
    for name, text in _ROWS.items():
        yield name, text.format(**values)
        if name == "playbook":
            for section, outcomes in list(run.playbook.items())[:_SHOWN]:
                yield f"  {section}", _counts(outcomes)


class _Nothing:
    """What a measure is that nothing stands behind."""

    def __format__(self, spec: str) -> str:
        return "-"


_NOTHING: Final = _Nothing()
_ROWS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""A row of the table each, over the fields of the analysis."""


def _counts(counts: Mapping[str, int]) -> str:
    return _listed(f"{name} {count:,}" for name, count in counts.items())


def _listed(items: Iterable[str]) -> str:
    texts = list(items)
    more = [f"… {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return ", ".join([*texts[:_SHOWN], *more]) or "-"
