"""One picture of `bench.turn_cost`, as SVG: cost by turn with the crossing, and rule survival."""

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH = 760
_LEFT, _RIGHT, _TOP, _BOTTOM = 180, 730, 64, 290
_STRIP, _STEP = 350, 22

_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 } .small { font-size: 11px; fill: #59636e }
  .end { text-anchor: end } .middle { text-anchor: middle }
  .grid { stroke: #d1d9e0; stroke-width: 1 } .track { fill: #d1d9e0 }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 }
  .kept { fill: #0969da } .dot { fill: #1f2328 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 } .grid { stroke: #3d444d }
    .track { fill: #3d444d } .c0 { stroke: #4493f8 } .c1 { stroke: #f0883e }
    .c2 { stroke: #3fb950 } .kept { fill: #4493f8 } .dot { fill: #f0f6fc }
  }
"""


class Curve(NamedTuple):
    """Cost of each turn, in tokens of input."""

    name: str
    costs: Sequence[float]


class Survival(NamedTuple):
    """The turn whose request is the first without the rule; None: it was always there."""

    name: str
    lost_at: int | None


def picture(curves: Sequence[Curve], crossing: int | None, rules: Sequence[Survival]) -> str:
    """The SVG; the curves have equal lengths, and `crossing` is where the first two cross."""
    turns = len(curves[0].costs)
    highest = max(max(curve.costs) for curve in curves)
    top = -(-highest // 5_000) * 5_000
    x = _scale(1, turns, _LEFT, _RIGHT)
    y = _scale(0, top, _BOTTOM, _TOP)
    body = [
        _text(20, 28, "Cost of a turn, in tokens of input (one of output counts as 6)", "title"),
        *_grid(turns, top, x, y),
        *(_curve(at, curve, x, y) for at, curve in enumerate(curves)),
    ]
    if crossing is not None and crossing <= turns:
        cost = curves[0].costs[crossing - 1]
        body += [
            f'<circle class="dot" cx="{x(crossing):.0f}" cy="{y(cost):.0f}" r="4"/>',
            _text(x(crossing), y(cost) + 22, f"turn {crossing}", "middle"),
        ]
    body += [
        _text(20, _STRIP - 14, "Is the rule of turn 3 still in the request?", "title"),
        *(line for at, rule in enumerate(rules) for line in _strip(at, rule, turns, x)),
    ]
    height = _STRIP + _STEP * len(rules) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Cost by turn, and survival of a rule">\n<style>{_STYLE}</style>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


Scale = Callable[[float], float]


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(text)}</text>'


def _grid(turns: int, top: float, x: Scale, y: Scale) -> list[str]:
    lines = []
    for cost in range(0, int(top) + 1, 5_000):
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y(cost):.0f}" y2="{y(cost):.0f}"/>'
        )
        lines.append(_text(_LEFT - 8, y(cost) + 4, f"{cost:,}", "small end"))
    for turn in (1, *range(20, turns + 1, 20)):
        lines.append(_text(x(turn), _BOTTOM + 18, str(turn), "small middle"))
    return lines


def _curve(at: int, curve: Curve, x: Scale, y: Scale) -> str:
    points = " ".join(f"{x(n):.1f},{y(cost):.1f}" for n, cost in enumerate(curve.costs, 1))
    legend = _LEFT + 180 * at
    return (
        f'<polyline class="line c{at}" points="{points}"/>\n'
        f'<line class="line c{at}" x1="{legend}" x2="{legend + 22}" y1="46" y2="46"/>\n'
        + _text(legend + 28, 50, curve.name)
    )


def _strip(at: int, rule: Survival, turns: int, x: Scale) -> list[str]:
    y, until = _STRIP + _STEP * at, rule.lost_at or turns
    lines = [
        _text(_LEFT - 8, y + 11, rule.name, "small end"),
        f'<rect class="track" x="{_LEFT}" width="{_RIGHT - _LEFT}" y="{y}" height="14" rx="3"/>',
        f'<rect class="kept" x="{x(3):.0f}" width="{x(until) - x(3):.0f}" y="{y}" height="14" '
        'rx="3"/>',
    ]
    if rule.lost_at is not None:
        lines.append(_text(x(until) + 6, y + 11, f"lost at turn {rule.lost_at}", "small"))
    return lines
