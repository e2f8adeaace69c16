"""A run as a page: `report.html` with two PNG plots, from the outcomes alone."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from acc_ace.ext.lab.temptation.episode import Grade
from acc_ace.ext.lab.temptation.evaluation import Results
from acc_ace.ext.lab.temptation.plan import TrialPlan
from acc_ace.ext.lab.temptation.tables import ContenderRow, grouped, rows, violations

_PAGE: Final = Path(__file__).parent / "page.html"

_SCRIPTED: Final = (
    "<p><b>The agent of this run is a script, not a language model.</b> It keeps to each rule that "
    "its request shows, but for the temptation. The table says what a memory shows and a guard "
    "stops; it says nothing about how often a real model breaks a rule.</p>"
)


def write_report(folder: Path, plan: TrialPlan, results: Results, command: str) -> Path:
    """Write the page and its plots into the run's folder; returns the page."""
    outcomes = results.outcomes
    every = rows(outcomes)
    _bars(every).savefig(folder / "violations.png", dpi=144)
    _curves(outcomes).savefig(folder / "turns.png", dpi=144)
    text = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        about=_about(plan, outcomes),
        warning="" if plan.model else _SCRIPTED,
        contenders=_contenders(every),
        attacks=_by(outcomes, lambda one: one.attack),
        lengths=_by(outcomes, lambda one: f"{one.benign} turns"),
        temptations=_by(outcomes, lambda one: f"p = {one.temptation:g}"),
        costs=_costs(every),
        failures=_failures(results),
        command=escape(command),
    )
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    return page


def _about(plan: TrialPlan, outcomes: Sequence[Grade]) -> str:
    who = plan.model or f"a scripted agent, memory kept by {plan.memory!r}, loss {plan.loss:g}"
    return escape(f"{len(outcomes):,} episodes · {who} · seed {plan.seed} · set {plan.suite}")


def _table(head: Sequence[str], body: Iterable[Sequence[object]]) -> str:
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in line) for line in body]
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f"<table><tr>{first}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _contenders(every: Sequence[ContenderRow]) -> str:
    head = ("contender", "violations", "rule shown", "stopped", "false blocks", "released")
    return _table(
        head,
        [
            (
                row.contender,
                row.violations,
                row.visible,
                row.stopped,
                row.false_blocks,
                row.releases,
            )
            for row in every
        ],
    )


def _costs(every: Sequence[ContenderRow]) -> str:
    head = ("contender", "calls", "tokens in", "cached", "tokens out", "$", "seconds", "to 1st, s")
    return _table(
        head,
        [
            (
                row.contender,
                f"{row.calls:.1f}",
                f"{row.tokens_in:,.0f}",
                f"{row.cached:,.0f}",
                f"{row.tokens_out:,.0f}",
                "–" if row.dollars is None else f"{row.dollars:.4f}",
                f"{row.seconds:.2f}",
                f"{row.first_token_s:.2f}",
            )
            for row in every
        ],
    )


def _by(outcomes: Sequence[Grade], key: Callable[[Grade], Hashable]) -> str:
    """Violations of each contender, by a key."""
    columns = [*grouped(outcomes, key)]
    body = []
    for name, own in grouped(outcomes, lambda one: one.contender).items():
        cells = grouped(own, key)
        body.append((name, *(violations(cells.get(column, [])) for column in columns)))
    return _table(("violations", *map(str, columns)), body)


def _failures(results: Results) -> str:
    if not results.failures:
        return ""
    failures = [(each.contender, each.episode, each.error[:200]) for each in results.failures[:50]]
    head = ("contender", "episode", "error")
    return (
        f"<h2>{len(results.failures)} episodes without an outcome</h2><p>They are in no table. "
        f'Start the run again to play them.</p><div class="wide">{_table(head, failures)}</div>'
    )


def _bars(every: Sequence[ContenderRow]) -> Figure:
    figure = Figure(figsize=(8, 0.45 * len(every) + 1.2), layout="constrained")
    axes = figure.subplots()
    names, shares = [row.contender for row in every], [row.violations.share for row in every]
    bounds = [row.violations.interval for row in every]
    spread = [
        [share - low for share, (low, _) in zip(shares, bounds, strict=True)],
        [high - share for share, (_, high) in zip(shares, bounds, strict=True)],
    ]
    axes.barh(names, shares, xerr=spread, color="#0969da", ecolor="#59636e", capsize=3)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="share of episodes in which the forbidden call ran")
    return figure


def _curves(outcomes: Sequence[Grade]) -> Figure:
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    turns, tokens, tempted = figure.subplots(1, 3)
    share, cost = lambda own: violations(own).share, _tokens
    _lines(turns, outcomes, lambda one: one.benign, share)
    _lines(tokens, outcomes, lambda one: one.benign, cost)
    _lines(tempted, outcomes, lambda one: one.temptation, share)
    turns.set(xlabel="turns after the rule", ylabel="violations", ylim=(-0.02, 1.02))
    tokens.set(xlabel="turns after the rule", ylabel="tokens in, an episode")
    tempted.set(xlabel="temptation p", ylabel="violations", ylim=(-0.02, 1.02))
    tempted.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _tokens(own: Sequence[Grade]) -> float:
    return sum(one.cost.tokens_in for one in own) / len(own)


def _lines(
    axes: Axes,
    outcomes: Sequence[Grade],
    along: Callable[[Grade], float],
    value: Callable[[Sequence[Grade]], float],
) -> None:
    for name, own in grouped(outcomes, lambda one: one.contender).items():
        places: dict[float, list[Grade]] = {}
        for one in own:
            places.setdefault(along(one), []).append(one)
        points = [(place, value(places[place])) for place in sorted(places)]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=str(name))
