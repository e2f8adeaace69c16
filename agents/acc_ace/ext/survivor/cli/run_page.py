"""A run as one HTML file: measures, plots and its newest ticks, without scripts or a network.

Every text comes from a run file, which a model and a world wrote: it is escaped, and the page's
own policy lets it load and run nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from string import Template
from typing import Final

from acc_ace.cli.output import printable
from acc_ace.ext.survivor.cli.turn_view import legend_of, turn_line, words_of
from acc_ace.ext.survivor.survival import LoopSnapshot, RunAnalysis

MOST_TICKS: Final = 200
"""Ticks that the page shows one by one, the newest of the run."""

_WIDE: Final = 640
_HIGH: Final = 120
_BAR: Final = 18
_MOST_BARS: Final = 20

_PAGE: Final = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>
:root { color-scheme: light dark; --line: #2563eb; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
th { text-align: left; vertical-align: top; padding-right: 1.5rem; white-space: pre; }
td { overflow-wrap: anywhere; }
svg { width: 100%; height: auto; overflow: visible; font-size: 12px; fill: currentColor; }
polyline { fill: none; stroke: var(--line); stroke-width: 1.5; }
rect { fill: var(--line); }
line { stroke: currentColor; opacity: .3; }
pre { float: left; margin: 0 1.5rem 1rem 0; font: 15px/1.15 monospace; }
details { clear: both; }
details p { margin: .2rem 0; }
.path { width: 16rem; border: 1px solid; }
.path polyline { stroke-width: .3; }
</style>
<h1>$title</h1>
<table>$rows</table>
$plots
$ticks
</html>
""")

_PLOTS: Final = {
    "steps": "Steps by episode",
    "life": "Life, as a share of the whole, by tick",
    "fear": "Fear: P(damage within three steps), by tick",
    "bits": "Curiosity: bits gained, by tick",
    "reward": "Reward by tick",
}


def run_page(
    run: RunAnalysis, measures: Iterable[tuple[str, str]], newest: Sequence[LoopSnapshot]
) -> str:
    """The page; `measures` are the rows of its table, `newest` the ticks to look at."""
    rows = "\n".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in measures
    )
    changes = {section: sum(outcomes.values()) for section, outcomes in run.playbook.items()}
    plots = [_curve(title, run.series.get(name, ())) for name, title in _PLOTS.items()]
    plots += [
        _bars("What ended the episodes", run.deaths),
        _bars("Playbook changes by section", changes),
    ]
    title = escape(f"Survivor: {run.run}")
    return _PAGE.substitute(
        title=title, rows=rows, plots="\n".join(plots), ticks="\n".join(_ticks(newest))
    )


def _ticks(newest: Sequence[LoopSnapshot]) -> Iterator[str]:
    """The path of the last life, then each tick to open; one that is opened closes the last."""
    last = newest[-1]
    lived = [tick for tick in newest if (tick.run, tick.episode) == (last.run, last.episode)]
    cells = [cell for tick in lived for cell in tick.path]
    points = " ".join(f"{column + 0.5},{row + 0.5}" for row, column in cells)
    yield (
        f'<h2>Path of the last life</h2><svg class="path" viewBox="0 0 {last.side} {last.side}" '
        f'role="img" aria-label="Path"><polyline points="{points}"/></svg>'
        f"<h2>The newest {len(newest)} ticks</h2>"
    )
    for tick in newest:
        told = "".join(f"<p><b>{name}</b> {_text(text)}</p>" for name, text in words_of(tick))
        logs = "".join(
            f"<p>{entry.log}: {_text(f'{entry.about}: {entry.text}')}</p>" for entry in tick.logs
        )
        yield (
            f'<details name="tick"{" open" if tick is last else ""}>'
            f"<summary>{_text(turn_line(tick))}</summary><pre>{_text(chr(10).join(tick.view))}</pre>"
            f"{told}<p>{_text(legend_of(tick))}</p>{logs}</details>"
        )


def _text(text: str) -> str:
    return escape(printable(text))


def _curve(title: str, values: Sequence[float]) -> str:
    """Values from left to right, with the lowest and the highest written beside them."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    span, steps = high - low or 1.0, max(1, len(values) - 1)
    points = " ".join(
        f"{_WIDE * at / steps:.1f},{_HIGH * (high - value) / span:.1f}"
        for at, value in enumerate(values)
    )
    drawn = (
        f'<line x1="0" x2="{_WIDE}" y1="{_HIGH}" y2="{_HIGH}"/><polyline points="{points}"/>'
        f'<text x="0" y="-4">{high:.3g}</text><text x="0" y="{_HIGH + 14}">{low:.3g}</text>'
    )
    return _figure(title, drawn, top=-20, height=_HIGH + 40)


def _bars(title: str, counts: Mapping[str, int]) -> str:
    """Counts as bars, the first ones."""
    shown = list(counts.items())[:_MOST_BARS]
    most = max((count for _, count in shown), default=0) or 1
    drawn = "".join(
        f'<rect x="200" y="{_BAR * at + 4}" height="{_BAR - 6}" width="{400 * count / most:.1f}"/>'
        f'<text x="0" y="{_BAR * at + 14}">{escape(name[:28])}</text>'
        f'<text x="{206 + 400 * count / most:.1f}" y="{_BAR * at + 14}">{count}</text>'
        for at, (name, count) in enumerate(shown)
    )
    return _figure(title, drawn, top=0, height=_BAR * max(1, len(shown)))


def _figure(title: str, drawn: str, *, top: int, height: int) -> str:
    box = f"0 {top} {_WIDE} {height}"
    return f'<h2>{title}</h2><svg viewBox="{box}" role="img" aria-label="{title}">{drawn}</svg>'
