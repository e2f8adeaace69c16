"""A run as a page: `report.html` with two PNG plots, from the grades alone."""

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
    "its request shows, but for the temptation. Who keeps the memory is a script too: with "
    "memory=scripted it reads rules, releases and calls as the scenario's author meant them, and "
    "its summaries keep the rule, but for the loss. The table says what a memory shows and a guard "
    "stops; it says nothing about how often a real model breaks a rule.</p>"
)

_DECISIVE: Final = (
    "<p><b>The model of this run plays the turn that tempts, and scripts play all others.</b> The "
    "scripts do what is asked, lose what the loss says, and judge calls as the scenario's author "
    "meant them. Violations and blocked calls are the model's own; permitted calls, what was done "
    "once the rule was lifted, and the rule restated are the scripts'.</p>"
)


def write_report(folder: Path, plan: TrialPlan, results: Results, command: str) -> Path:
    """Write the page and its plots into the run's folder; returns the page."""
    grades = results.grades
    every = rows(grades)
    _bars(every).savefig(folder / "violations.png", dpi=144)
    _curves(grades).savefig(folder / "turns.png", dpi=144)
    text = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        about=_about(plan, grades),
        warning=_warning(plan),
        contenders=_contenders(every),
        attacks=_by(grades, lambda one: one.attack),
        lengths=_by(grades, lambda one: f"{one.benign} turns"),
        temptations=_by(grades, lambda one: f"p = {one.temptation:g}"),
        costs=_costs(every),
        failures=_failures(results),
        command=escape(command),
    )
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    return page


def _warning(plan: TrialPlan) -> str:
    if not plan.model:
        return _SCRIPTED
    return _DECISIVE if plan.decisive else ""


def _about(plan: TrialPlan, grades: Sequence[Grade]) -> str:
    who = plan.model or f"a scripted agent, memory kept by {plan.memory!r}, loss {plan.loss:g}"
    scenarios = len({one.scenario for one in grades})
    played = f"{len(grades):,} episodes of {scenarios} scenarios"
    return escape(f"{played} · {who} · seed {plan.seed} · set {plan.suite}")


def _table(head: Sequence[str], body: Iterable[Sequence[object]]) -> str:
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in line) for line in body]
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f"<table><tr>{first}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _contenders(every: Sequence[ContenderRow]) -> str:
    names = {
        "violations": "violations",
        "stopped": "stopped",
        "visible": "rule shown",
        "lost_by_attack": "lost by attack",
        "right": "permitted, done",
        "false_blocks": "false blocks",
        "releases": "done once lifted",
        "restated": "rule restated",
    }
    body = [(row.contender, *(getattr(row, name) for name in names)) for row in every]
    return _table(("contender", *names.values()), body)


def _costs(every: Sequence[ContenderRow]) -> str:
    head = ("contender", "calls", "tokens in", "largest", "cached", "tokens out", "$", "seconds")
    body = [
        (
            row.contender,
            f"{row.calls:.1f}",
            *(f"{n:,.0f}" for n in (row.tokens_in, row.largest, row.cached, row.tokens_out)),
            "–" if row.dollars is None else f"{row.dollars:.4f}",
            f"{row.seconds:.2f}",
            f"{row.answer_s:.2f}",
        )
        for row in every
    ]
    return _table((*head, "a reply, s"), body)


def _by(grades: Sequence[Grade], key: Callable[[Grade], Hashable]) -> str:
    """Violations of each contender, by a key."""
    columns = [*grouped(grades, key)]
    body = []
    for name, own in grouped(grades, lambda one: one.contender).items():
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


def _curves(grades: Sequence[Grade]) -> Figure:
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    turns, tokens, tempted = figure.subplots(1, 3)
    share, cost = lambda own: violations(own).share, _tokens
    _lines(turns, grades, lambda one: one.benign, share)
    _lines(tokens, grades, lambda one: one.benign, cost)
    _lines(tempted, grades, lambda one: one.temptation, share)
    turns.set(xlabel="turns after the rule", ylabel="violations", ylim=(-0.02, 1.02))
    tokens.set(xlabel="turns after the rule", ylabel="tokens in, an episode")
    tempted.set(xlabel="temptation p", ylabel="violations", ylim=(-0.02, 1.02))
    if grades:
        tempted.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _tokens(own: Sequence[Grade]) -> float:
    return sum(one.cost.tokens_in for one in own) / len(own)


def _lines(
    axes: Axes,
    grades: Sequence[Grade],
    along: Callable[[Grade], float],
    value: Callable[[Sequence[Grade]], float],
) -> None:
    for name, own in grouped(grades, lambda one: one.contender).items():
        places: dict[float, list[Grade]] = {}
        for one in own:
            places.setdefault(along(one), []).append(one)
        points = [(place, value(places[place])) for place in sorted(places)]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=str(name))
