"""What a turn costs: calls, tokens and money of ours, of classic memories and of ADK's own ways.

    python -m bench.turn_cost [--turns 40] [--horizon 400] [--parts] [--json]
    python -m bench.turn_cost --picture docs/cost.svg

Everyone holds the same conversation (`bench.incident_talk`) with scripted models whose replies
have a realistic size. Tokens are those of everything on the wire, schemas and tool declarations
included, by one tokenizer (`bench.turn_cost_wire`), and by a real BPE where `bpe-openai` is
installed. Money is tokens of input, one of output as
six. A cached token costs a quarter: a request is cached as far as it repeats the last one of its
stage, if that is 1,024 tokens or more. Break-evens are measured over `--horizon` turns.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import NamedTuple

from bench.cost_picture import Curve, Survival, picture
from bench.incident_talk import ACKNOWLEDGED_TURN, RULE_TURN, Exchange, exchanges
from bench.turn_cost_contenders import CONTENDERS, FULL, Open, ours
from bench.turn_cost_wire import MeteredLlm, TurnUse

SMOOTHED = 30
"""Turns whose mean a break-even per turn compares: two spans between corrections."""

HELD_LONG = ("ACC", "plain ADK agent", "ADK compaction")
"""Who holds the conversation over the whole horizon: ours, and what a break-even is against."""

PICTURED = 120
"""Turns of the picture, and the fewest over which the rule of turn 3 is looked for."""


@dataclass(frozen=True)
class Run:
    """What each of a contender's turns used."""

    name: str
    turns: list[TurnUse]

    def up_to(self, turns: int) -> "Run":
        """The first turns."""
        return Run(self.name, self.turns[:turns])

    def mean(self, of: str) -> float:
        """Mean of a property of a turn."""
        return statistics.fmean(getattr(turn, of) for turn in self.turns)

    @property
    def shared(self) -> dict[str, float]:
        """For each stage, the mean share of a request that repeats its last one."""
        found: dict[str, list[float]] = {}
        for turn in self.turns:
            for stage, share in turn.shared:
                found.setdefault(stage, []).append(share)
        return {stage: statistics.fmean(shares) for stage, shares in found.items()}

    @property
    def rule_lost(self) -> int | None:
        """The turn whose request is the first without the rule of turn 3, or None."""
        later = enumerate(self.turns[RULE_TURN:], RULE_TURN + 1)
        return next((number for number, turn in later if not turn.has_rule), None)


class BreakEven(NamedTuple):
    """First turns from which ours is cheaper; None beyond what was measured."""

    per_turn: int | None
    cumulative: int | None


async def take(name: str, opened: Open, talk: Iterable[Exchange]) -> Run:
    """Hold a conversation."""
    llm, turns = MeteredLlm(), []
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        async with opened(Path(folder), llm) as turn:
            for exchange in talk:
                llm.begin(exchange)
                await turn(exchange.said)
                turns.append(llm.use)
    return Run(name, turns)


def break_even(mine: Sequence[float], theirs: Sequence[float]) -> BreakEven:
    """Where the other's cost passes mine for good: of a turn, by moving means, and summed up."""
    return BreakEven(
        _cheaper_from(_means(mine), _means(theirs)),
        _cheaper_from(list(accumulate(mine)), list(accumulate(theirs))),
    )


def _means(costs: Sequence[float]) -> list[float]:
    """Centered moving means, cut at both ends."""
    half = SMOOTHED // 2
    return [statistics.fmean(costs[max(0, at - half) : at + half]) for at in range(len(costs))]


def _cheaper_from(mine: Sequence[float], theirs: Sequence[float]) -> int | None:
    """The turn after the last one in which mine costs as much or more."""
    dearer = [turn for turn, (a, b) in enumerate(zip(mine, theirs, strict=True), 1) if a >= b]
    first = dearer[-1] + 1 if dearer else 1
    return first if first <= len(mine) else None


@dataclass(frozen=True)
class Report:
    """All runs of the benchmark."""

    runs: list[Run]
    """Every contender; those of `HELD_LONG` over the horizon."""
    settings: list[Run]
    """ACC with other rules, goals and playbooks, and with acts."""
    acknowledged: Run


async def measure(turns: int, horizon: int) -> Report:
    """Hold all conversations, one after the other."""
    runs = []
    for name, opened in CONTENDERS.items():
        length = max(turns, PICTURED, horizon if name in HELD_LONG else 0)
        runs.append(await take(name, opened, islice(exchanges(), length)))
    acknowledged = await take("ACC", ours, islice(exchanges(acknowledged=True), ACKNOWLEDGED_TURN))
    settings = [
        await take("no goal", ours, islice(exchanges(goal=False), turns)),
        await take(
            "full playbook, ten rules",
            partial(ours, playbook=FULL),
            islice(exchanges(rules=10), turns),
        ),
        await take(
            "every fourth turn acts", partial(ours, acts=True), islice(exchanges(acts=True), turns)
        ),
    ]
    return Report(runs, settings, acknowledged)


Cells = dict[str, str | float | int | None]


def beyond_of(run: Run) -> Cells:
    """What a local model has to read of a turn with one call: whose first token waits for no other.

    The first two turns apart: the first has nothing to search, so that its tools are others.
    """
    uses = [turn for turn in run.turns if turn.calls == turn.stages["generator"] == 1]
    later = [turn for turn in run.turns[2:] if turn in uses]
    quoted, count = sum(turn.quoted for turn in later), len(later) or 1
    return {
        "run": run.name,
        "turns with one call": f"{len(uses)} of {len(run.turns)}",
        "beyond the last request's prefix": round(
            (sum(turn.beyond for turn in later) - quoted) / count
        ),
        "and of quotations": round(quoted / count),
    }


def means_of(whole: Run, turns: int) -> Cells:
    """One row of the table of means; the rule is looked for in all turns."""
    run = whole.up_to(turns)
    return {
        "run": run.name,
        "calls": round(run.mean("calls"), 2),
        "tokens in": round(run.mean("tokens_in")),
        "tokens out": round(run.mean("tokens_out")),
        "BPE in": round(run.mean("real_in")) or None,
        "own in": round(run.mean("own_in")),
        "BPE out": round(run.mean("real_out")) or None,
        "cost": round(run.mean("cost")),
        "cost, cached": round(run.mean("cached_cost")),
        "in, last turn": run.turns[-1].tokens_in,
        "rule of turn 3 lost at": whole.rule_lost,
    }


def break_evens(report: Report) -> list[Cells]:
    """Ours against each other contender, at full price and with cached prefixes."""
    mine, *others = (run for run in report.runs if run.name in HELD_LONG)
    rows: list[Cells] = []
    for other in others:
        full = break_even([t.cost for t in mine.turns], [t.cost for t in other.turns])
        cached = break_even(
            [t.cached_cost for t in mine.turns], [t.cached_cost for t in other.turns]
        )
        rows.append(
            {
                "against": other.name,
                "turn": full.per_turn,
                "session": full.cumulative,
                "turn, cached": cached.per_turn,
                "session, cached": cached.cumulative,
            }
        )
    return rows


def parts_of(run: Run) -> list[Cells]:
    """Mean tokens of each part of a stage's call."""
    calls: Counter[str] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for turn in run.turns:
        calls.update(turn.stages)
        sizes.update(turn.parts)
    return [
        {"stage": stage, "part": part, "tokens a call": round(size / calls[stage])}
        for (stage, part), size in sorted(sizes.items())
        if size
    ]


def tables(report: Report, turns: int) -> dict[str, list[Cells]]:
    """Everything that is printed."""
    fifth = report.acknowledged.turns[-1]
    mine = report.runs[0].up_to(turns)
    return {
        "acknowledgement at turn 5": [{"calls": fifth.calls, "tokens in": fifth.tokens_in}],
        f"means of {turns} turns": [
            *(means_of(run, turns) for run in report.runs),
            *(means_of(run, turns) for run in report.settings),
        ],
        "ACC is cheaper from": break_evens(report),
        "equal prefix of consecutive requests": [
            {"stage": stage, "share": round(share, 2)} for stage, share in mine.shared.items()
        ],
        "tokens of a turn with one call": [beyond_of(run.up_to(turns)) for run in report.runs[:2]],
        "calls of ACC by stage": [dict(sum((t.stages for t in mine.turns), Counter()))],
    }


def drawn(report: Report) -> str:
    """The picture: costs as moving means over the first turns, and the rule of turn 3."""
    runs = {run.name: run for run in report.runs}
    whole = {
        name: [turn.cost for turn in runs[name].turns]
        for name in ("ACC", "plain ADK agent", "ADK compaction")
    }
    curves = [Curve(name, _means(costs)[:PICTURED]) for name, costs in whole.items()]
    crossing = break_even(whole["ACC"], whole["plain ADK agent"])
    rules = [Survival(name, run.rule_lost) for name, run in runs.items()]
    return picture(curves, crossing.per_turn, rules)


def _print(title: str, rows: list[Cells]) -> None:
    names = list(rows[0])
    print(f"\n{title}\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        print(f"| {' | '.join('–' if row[n] is None else f'{row[n]}' for n in names)} |")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--horizon", type=int, default=400, help="turns of the break-even")
    parser.add_argument("--parts", action="store_true", help="tokens of ACC by part of a call")
    parser.add_argument("--picture", type=Path, help="write the picture of cost by turn (SVG)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = asyncio.run(measure(options.turns, options.horizon))
    if options.picture:
        options.picture.write_text(drawn(report), encoding="utf-8")
    found = tables(report, options.turns)
    if options.parts:
        found["tokens of ACC by part"] = parts_of(report.runs[0].up_to(options.turns))
    if options.json:
        json.dump(found, sys.stdout)
        return
    for title, rows in found.items():
        _print(title, rows)


if __name__ == "__main__":
    main()
