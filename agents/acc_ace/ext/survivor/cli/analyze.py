"""`acc-ace analyze`: the measures of a saved run, as a table, as JSON, or as a page with plots."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType

from acc_ace.cli.output import (
    Paragraphs,
    create_private_file,
    json_line,
    named_values,
    printable,
    stderr_console,
    stdout_console,
)
from acc_ace.errors import InputError
from acc_ace.ext.survivor.analysis import analyse
from acc_ace.ext.survivor.chronicle import story
from acc_ace.ext.survivor.cli.run_page import MOST_TICKS, run_page
from acc_ace.ext.survivor.snapshots import read_snapshots
from acc_ace.ext.survivor.survival import LoopSnapshot, RunAnalysis

_SHOWN: Final = 12
"""Bad lines, causes and sections shown one by one."""


def run_analyze(run: Path, *, as_json: bool = False, html: Path | None = None) -> None:
    """Analyse a run file and print the measures; with `html`, write the page too.

    Bad lines are reported on stderr and left out. Raises StoreError for a file that cannot be
    read, InputError for one of another version or without a tick, or a page that exists.
    """
    newest = deque[LoopSnapshot](maxlen=MOST_TICKS)
    measured = analyse(_kept(_reported(run), newest))
    if not measured.ticks:
        raise InputError(f"{run} holds no tick of a survivor's run")
    if html is not None:
        with create_private_file(html, option="--html") as file:
            file.write(run_page(measured, measures(measured), newest))
    if as_json:
        print(json_line(measured.model_dump(mode="json")))
    else:
        stdout_console().print(analysis_view(measured))


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


def _kept(ticks: Iterable[LoopSnapshot], newest: deque[LoopSnapshot]) -> Iterator[LoopSnapshot]:
    for tick in ticks:
        newest.append(tick)
        yield tick


def analysis_view(run: RunAnalysis) -> RenderableType:
    """The learning curve and what became of each life, then the measures as a table."""
    rows = ((printable(name), Paragraphs((text, ""))) for name, text in measures(run))
    return Group(Paragraphs(*((line, "") for line in story(run.newest))), named_values(rows))


def measures(run: RunAnalysis) -> Iterator[tuple[str, str]]:
    """The measures by name, in words; '-' where nothing stands behind one."""
    yield "run", f"{run.run}, seed {run.seed}, {run.model or 'no model named'}"
    yield (
        "survival",
        (
            f"{run.episodes:,} episodes, mean {_number(run.mean_ticks)} ticks "
            f"({_number(run.mean_steps)} steps), best {run.best_ticks:,} ({run.best_steps:,})"
        ),
    )
    yield "ended by", _counts(run.deaths)
    yield "score", f"mean {_number(run.mean_score)}, best {_number(run.best_score)}"
    yield "rewards a tick", _listed(f"{name} {value:+.3f}" for name, value in run.rewards.items())
    yield (
        "dangers",
        (
            f"{run.dangers_predicted:,} predicted, {_percent(run.dangers_avoided)} without damage; "
            f"{run.damage_unpredicted:,} steps with damage that was not"
        ),
    )
    yield "fear AUC", f"{_number(run.fear_auc, 3)} over {run.fear_windows:,} windows"
    yield "exploration", f"{_number(run.cells_per_step, 3)} cells seen a step"
    yield "information", f"{run.bits:.1f} bits, {_number(run.bits_per_step, 3)} a step"
    yield "alert log", f"accuracy {_percent(run.alert_accuracy)}: {_counts(run.alerts)}"
    yield "playbook", f"{_number(run.playbook_per_100_ticks)} changes in 100 ticks"
    for section, outcomes in list(run.playbook.items())[:_SHOWN]:
        yield f"  {section}", _counts(outcomes)
    yield "meta notes", f"{run.meta_notes:,}"
    yield (
        "model calls",
        (f"{_number(run.calls_per_tick, 2)} a tick, {_number(run.tokens_per_tick, 0)} tokens"),
    )


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _counts(counts: Mapping[str, int]) -> str:
    return _listed(f"{name} {count:,}" for name, count in counts.items())


def _listed(items: Iterable[str]) -> str:
    texts = list(items)
    more = [f"… {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return ", ".join([*texts[:_SHOWN], *more]) or "-"
