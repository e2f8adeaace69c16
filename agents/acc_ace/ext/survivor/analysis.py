"""Measures of a run, from its snapshots alone, in one pass and bounded memory.

Fear is judged as a forecast: the danger estimated before a step against damage in that step and
the two after it. Windows with an evaded or blocked step are left out, since what they would have
led to is unknown (the source's measures, and its component 6).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from copy import deepcopy
from itertools import accumulate
from typing import Final, TypeVar

from acc_ace.ext.survivor.chronicle import lived
from acc_ace.ext.survivor.survival import Episode, LoopSnapshot, RunAnalysis, StepRecord

HORIZON: Final = 3
"""Steps within which a danger has to come true."""

ALIVE: Final = "(alive)"
"""What ended a life that did not end."""

SERIES: Final = (
    *("n", "episode", "life", "food", "water", "fear", "threshold"),
    *("unknown", "curiosity", "exploration", "score"),
)
"""What is plotted over all ticks; `n` is the line of a tick in its file."""

_POINTS: Final = 800
_EPISODES: Final = 1_000
_NAMES: Final = 500
"""Names counted of each kind; a run has a few dozen, a strange file may have any number."""

_GRADES: Final = 1_000
"""Estimates of danger are told apart to the thousandth."""

_Key = TypeVar("_Key", bound=Hashable)
_Sum = TypeVar("_Sum", int, float)


def analyse(snapshots: Iterable[LoopSnapshot]) -> RunAnalysis:
    """Measure a run; its snapshots come in the order in which they were written."""
    measures = RunMeasures()
    for snapshot in snapshots:
        measures.add(snapshot)
    return measures.result()


class RunMeasures:
    """Takes snapshots one by one; a running loop may ask for the result at any time."""

    def __init__(self) -> None:
        self._sums, self._rewards = defaultdict[str, float](float), defaultdict[str, float](float)
        self._deaths, self._notes = Counter[str](), Counter[tuple[str, str]]()
        self._changes = Counter[tuple[str, str]]()
        self._best = dict.fromkeys(("ticks", "steps", "score"), float("-inf"))
        self._newest: deque[Episode] = deque(maxlen=_EPISODES)
        self._forecast, self._alerts = _Forecast(), _Alerts()
        self._harms = Counter[str]()
        self._series = defaultdict[str, _Series](_Series)
        self._last: LoopSnapshot | None = None
        self._life = Episode()

    def add(self, snapshot: LoopSnapshot, line: int = 0) -> None:
        """Count a tick; `line` is its number in the run's file."""
        last, self._last = self._last, snapshot
        if last and (last.run, last.episode) != (snapshot.run, snapshot.episode):
            self._end()
        elif last:
            self._sums["moves"] += last.threshold != snapshot.threshold
        self._life = lived(self._life, snapshot, line)
        for name in ("calls", "tokens"):
            self._sums[name] += getattr(snapshot, name)
        self._sums["subgoals"] += len(snapshot.plan.subgoals)
        board = snapshot.scoreboard
        parts = {f"external {name}": value for name, value in board.external.items()}
        parts |= {f"intrinsic {name}": value for name, value in board.intrinsic.items()}
        for name, value in {**parts, "total": board.total}.items():
            _count(self._rewards, name, value)
        for change in snapshot.playbook:
            _count(self._changes, (change.section or "(none)", change.outcome), 1)
        for note in snapshot.logs:
            if note.log == "meta":
                _count(self._notes, (note.about, note.text), 1)
        self._alerts.add(snapshot)
        for step in snapshot.steps:
            if step.life < 0:
                _count(self._harms, step.cause or step.lack, -step.life)
            self._forecast.add(step, snapshot.threshold)
        values = {**dict(snapshot), **dict(snapshot.body), "n": line, "score": board.score}
        for name in SERIES:
            self._series[name].add(values[name])

    def result(self) -> RunAnalysis:
        """The measures so far; an open episode counts with what it has lived."""
        closed = deepcopy(self)
        closed._end()
        return closed._result() if self._last else RunAnalysis()

    def _end(self) -> None:
        """Close the current episode."""
        life, self._life = self._life, Episode()
        self._forecast.end()
        self._newest.append(life)
        self._sums["lives"] += 1
        for name in ("ticks", "steps", "cells", "bits", "score", "usd"):
            self._sums[name] += getattr(life, name) or 0
        for name, most in self._best.items():
            self._best[name] = max(most, getattr(life, name))
        _count(self._deaths, life.died_of or ALIVE, 1)

    def _result(self) -> RunAnalysis:
        last, sums = self._last, self._sums
        lives, ticks, steps = (int(sums[name]) for name in ("lives", "ticks", "steps"))
        sections = {section: Counter[str]() for section, _ in self._changes}
        for (section, outcome), count in self._changes.items():
            sections[section][outcome] = count
        applied = sum(outcomes["applied"] for outcomes in sections.values())
        return RunAnalysis(
            **(last.model_dump(include={"run", "seed", "model"}) if last else {}),
            episodes=lives,
            ticks=ticks,
            steps=steps,
            mean_ticks=_share(ticks, lives),
            mean_steps=_share(steps, lives),
            best_ticks=int(self._best["ticks"]),
            best_steps=int(self._best["steps"]),
            mean_score=_share(sums["score"], lives),
            best_score=self._best["score"],
            deaths=dict(self._deaths.most_common()),
            harms=dict(self._harms.most_common()),
            **self._forecast.result(),
            **self._alerts.result(),
            cells_per_step=_share(sums["cells"], steps),
            bits=sums["bits"],
            bits_per_step=_share(sums["bits"], steps),
            rewards={name: total / ticks for name, total in self._rewards.items()},
            playbook=dict(sorted(sections.items(), key=lambda item: -item[1].total())),
            playbook_per_100_ticks=_share(100 * applied, ticks),
            moves_per_100_ticks=_share(100 * sums["moves"], ticks),
            subgoals_per_tick=_share(sums["subgoals"], ticks),
            meta_notes=len(self._notes),
            calls_per_tick=_share(sums["calls"], ticks),
            tokens_per_tick=_share(sums["tokens"], ticks),
            usd=None if last is None or last.usd is None else sums["usd"],
            newest=tuple(self._newest),
            series={name: tuple(series.points) for name, series in self._series.items()},
        )


class _Window:
    """The steps that follow an estimate of danger."""

    def __init__(self, danger: float = 0.0) -> None:
        self.grade = round(_GRADES * min(1.0, max(0.0, danger)))
        self.left, self.is_harmed = HORIZON, False


class _Forecast:
    """Compares estimates of danger with the damage that followed."""

    def __init__(self) -> None:
        self._open: list[_Window] = []
        self._harmed, self._safe = [0] * (_GRADES + 1), [0] * (_GRADES + 1)
        self._danger: _Window | None = None
        self._counts = Counter[str]()

    def add(self, step: StepRecord, threshold: float) -> None:
        """Count a step."""
        if step.danger >= threshold or step.status == "evaded":
            self._danger = self._danger or _Window()
            self._danger.left = HORIZON
        if step.status in {"evaded", "blocked"}:
            self._open.clear()
        elif step.done:
            self._open.append(_Window(step.danger))
        is_harm = step.life < 0 and step.cause != ""
        self._counts["unpredicted"] += is_harm and self._danger is None
        for window in (*self._open, *filter(None, [self._danger])):
            window.left -= step.done != ""
            window.is_harmed |= is_harm
        if self._open and self._open[0].left == 0:
            self._close(self._open.pop(0))
        if self._danger and self._danger.left == 0:
            self._close_danger()

    def end(self) -> None:
        """The episode is over: of the windows cut off, those with damage are decided."""
        for window in self._open:
            if window.is_harmed:
                self._close(window)
        self._open.clear()
        self._close_danger()

    def result(self) -> dict[str, float | None]:
        """The fields of the analysis."""
        harmed, safe = sum(self._harmed), sum(self._safe)
        return {
            "dangers_predicted": self._counts["predicted"],
            "dangers_avoided": _share(self._counts["avoided"], self._counts["predicted"]),
            "damage_unpredicted": self._counts["unpredicted"],
            "fear_auc": _share(_pairs_won(self._harmed, self._safe), harmed * safe),
            "fear_windows": harmed + safe,
        }

    def _close(self, window: _Window) -> None:
        (self._harmed if window.is_harmed else self._safe)[window.grade] += 1

    def _close_danger(self) -> None:
        if self._danger:
            self._counts.update(predicted=1, avoided=int(not self._danger.is_harmed))
        self._danger = None


class _Alerts:
    """Causes in the alert log, and what they did after the tick that noted them."""

    def __init__(self) -> None:
        self._causes, self._met, self._harms = Counter[str](), Counter[str](), Counter[str]()
        self._events = Counter[str]()

    def add(self, snapshot: LoopSnapshot) -> None:
        """Score what a tick met by the causes of earlier ticks, then note its own."""
        met = [(step.cause, step.life < 0) for step in snapshot.steps if step.cause]
        # Thirst and hunger are no cause of a step, but what an episode died of.
        if snapshot.died_of not in {"", *(cause for cause, _ in met)}:
            met.append((snapshot.died_of, True))
        for name, does_harm in met:
            warnings = self._about(name.casefold())
            for cause in warnings:
                self._met[cause] += 1
                self._harms[cause] += does_harm
            self._events.update(harm=does_harm, foretold=does_harm and bool(warnings))
        for entry in snapshot.logs:
            if entry.log == "alert":
                _count(self._causes, entry.about.casefold(), 1)

    def result(self) -> dict[str, object]:
        """The fields of the analysis."""
        counts = Counter(map(self._verdict, self._causes))
        met = counts["harmful"] + counts["harmless"]
        return {
            "alerts": dict(counts),
            "alert_accuracy": _share(counts["harmful"], met),
            "harms_foretold": _share(self._events["foretold"], self._events["harm"]),
        }

    def _about(self, name: str) -> list[str]:
        """The causes of a name; a model may write 'the cone' or 'cone at night'."""
        return [cause for cause in self._causes if name == cause or name in cause.split()]

    def _verdict(self, cause: str) -> str:
        if not self._met[cause]:
            return "unmet"
        return "harmful" if self._harms[cause] else "harmless"


class _Series:
    """Evenly spaced samples of values, _POINTS at most: when full, every other one goes."""

    def __init__(self) -> None:
        self.points: list[float] = []
        self._seen, self._stride = 0, 1

    def add(self, value: float) -> None:
        """Take a value in, or leave it out."""
        if self._seen % self._stride == 0:
            self.points.append(value)
        self._seen += 1
        if len(self.points) > _POINTS:
            self.points, self._stride = self.points[::2], 2 * self._stride


def _count(counter: dict[_Key, _Sum], name: _Key, by: _Sum) -> None:
    """Add to a count or a sum of _NAMES names at most."""
    if name in counter or len(counter) < _NAMES:
        counter[name] += by


def _pairs_won(harmed: Sequence[int], safe: Sequence[int]) -> float:
    """Pairs in which the harmed window has the higher grade; ties count half."""
    below = accumulate(safe)
    return sum(h * (up_to - s / 2) for h, s, up_to in zip(harmed, safe, below, strict=True))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
