"""One life: a world and all that observes it, step by step, so that it can be lived again.

The committed text of a tick ends in a line such as `steps: n0.12 e0.12 !s0.71 u0.05 -0.40;
threshold 0.60; exploration 0.50; body 12 170 144`: what was made (n s w e, wait '.', use 'u'; '!'
before an evasion) or not ('x' blocked, '-' skipped, '~' failed), the danger before it, the settings
in force, and life, food and water after it. Nothing else is needed to rebuild the life: rewards and
fear learn from what was lived, not from beliefs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.text.normalize import one_line
from acc_ace.errors import InputError
from acc_ace.ext.survivor.exploration import ExplorationMap, Outlook, outlook
from acc_ace.ext.survivor.fear import Fear, is_damaged
from acc_ace.ext.survivor.memory_manager import MemoryManager
from acc_ace.ext.survivor.planner import Beliefs
from acc_ace.ext.survivor.reward_synthesizer import RewardSynthesizer, Tick, report
from acc_ace.ext.survivor.state_formatter import SYMBOLS, bearing, render, view_rows
from acc_ace.ext.survivor.survival import (
    Body,
    Cell,
    LoopSettings,
    Plan,
    StepRecord,
    StepStatus,
)
from acc_ace.ext.survivor.world import Observation, Touch, World
from acc_ace.ext.survivor.world_rules import ACTIONS, CREATURES, KINDS, action_of

_MARKS: Final = dict(zip(ACTIONS, "nswe.u", strict=True))
_STEPS: Final = re.compile(r"steps: (.*); threshold (\d\.\d\d); exploration (\d\.\d\d); body (.+)$")
_STEP: Final = re.compile(r"(!?)([nswe.ux~-])(\d\.\d\d)")
_NOT_MADE: Final[dict[str, StepStatus]] = {"x": "blocked", "-": "skipped", "~": "failed"}
_MOST_RISKS = 4
_SHOWN: Final = ("is_night", "season", "is_safe", "body", "unknown", "threshold", "exploration")
"""What a snapshot has of a moment."""

BODY: Final = "@"
_KINDS: Final = {kind: str(number) for number, kind in enumerate(KINDS)}
_CREATURES: Final = {kind: kind[0] for kind in CREATURES}


class _Lived(NamedTuple):
    """A step as the observers take it in: the moments around it and what it showed."""

    before: Outlook
    after: Outlook
    place: Cell
    new_cells: int
    died: bool


class LiveEpisode:
    """The surroundings of the Execution Engine, with map, fear, curiosity, rewards and logs."""

    def __init__(
        self,
        key: SessionKey,
        world: World,
        *,
        layout: int,
        mind: str = "",
        born: datetime | None = None,
    ) -> None:
        """`layout` is the seed of the ground, `mind` what an earlier life left, `born` its time.

        Raises what the world raises.
        """
        self._key = key
        self.world, self.ground = world, ExplorationMap(world.sizes)
        self._fears = Fear.of(mind)
        self.experience = self._fears.experience
        self.rewards, self.memory = RewardSynthesizer(), MemoryManager(key)
        self.beliefs: Beliefs = {}
        self.wanted: float | None = None
        """The danger threshold that was set last."""
        self.threshold, self.exploration = 0.0, 0.0
        self.ticks, self.steps, self.is_over, self.died_of = 0, 0, False, ""
        self.last = Tick()
        self._lived: list[_Lived] = []
        observation, info = world.reset(seed=layout, options={"born": born})
        self._take(observation, info["signs"])

    @cached_property
    def outlook(self) -> Outlook:
        """What is known now."""
        seen = outlook(
            self._observation,
            self.ground,
            threshold=self.threshold,
            exploration=self.exploration,
        )
        return replace(seen, prospects=self.experience.prospects(seen))

    @cached_property
    def fear(self) -> float:
        """P(damage within three steps) of waiting here, rounded as it is committed."""
        return round(self._fears.estimate(self.outlook, "wait", self.beliefs), 2)

    def open_tick(self, beliefs: Beliefs, settings: LoopSettings) -> None:
        """Begin a tick by what is believed and set now; a setting that was changed takes over."""
        is_changed = self.wanted is not None and settings.danger_threshold != self.wanted
        if is_changed or not self.ticks:
            self.threshold = settings.danger_threshold
        self.wanted = settings.danger_threshold
        wanted = self.rewards.exploration(settings.exploration, self.body)
        self._set(beliefs, self.threshold, round(wanted, 2))

    def set_threshold(self, threshold: float) -> None:
        """Set the danger threshold of this tick and the next ones."""
        self._set(self.beliefs, round(threshold, 2), self.exploration)

    def step(self, step: str) -> StepRecord:
        """Make one step and observe it. Raises what the world raises."""
        before = self.outlook
        observation, _, died, cut, info = self.world.step(action_of(step))
        new_cells = self._take(observation, info["signs"])
        was, now = before.body, self.body
        touch: Touch | None = info["touch"]
        if watched := info["watched"]:
            self.experience.watched(watched, before.season)
            self.memory.watched(watched, before.season)
        hits = sorted(info["hits"], key=lambda hit: hit.life)
        # What is lost beside a gain is hunger's.
        touched = touch is not None and (
            touch.life < 0 or (any(touch[1:]) and now.life >= was.life)
        )
        self.steps += 1
        self.is_over = died or cut
        self._lived.append(_Lived(before, self.outlook, self.ground.place, new_cells, died))
        return StepRecord(
            wanted=step,
            done=step,
            status="done",
            life=now.life - was.life,
            food=now.food - was.food,
            water=now.water - was.water,
            cause=hits[0].kind if hits else touch.kind if touch and touched else "",
            season=before.season,
        )

    def close_tick(self, records: Sequence[StepRecord]) -> Tick:
        """Let the observers take the tick's steps in; returns the tick with its rewards."""
        lived, self._lived = iter(self._lived), []
        taken, bits, new_cells, path = list[StepRecord](), 0.0, 0, list[Cell]()
        for record in records:
            if not record.done:
                self.rewards.step(record, self.outlook)
                taken.append(record)
                continue
            was = next(lived)
            in_reach = any(danger.is_near for danger in self._fears.dangers(was.before))
            self._fears.observe(was.before, record)
            gained = self.experience.observe(was.before, record, was.new_cells)
            reward = self.rewards.step(
                record, was.after, bits=gained, in_reach=in_reach, died=was.died
            )
            if is_damaged(record):
                self.ground.hurt.add(was.place)
            lack = self.memory.step(record, was.before)
            if was.died:
                self.died_of = record.cause or lack
            taken.append(record.model_copy(update={"reward": reward, "lack": lack}))
            bits, new_cells = bits + gained, new_cells + was.new_cells
            path.append(was.place)
        self.memory.explored(self.ground)
        self.ticks += 1
        self._forget()
        board = self.rewards.close_tick(self.body)
        self.last = Tick(tuple(taken), board, bits, new_cells, tuple(path))
        return self.last

    @property
    def mind(self) -> str:
        """What a later life takes over of fear and curiosity."""
        return self._fears.text()

    @property
    def body(self) -> Body:
        """Life and resources now."""
        return self.outlook.body

    def report(self) -> str:
        """The Result Formatter's report on the last tick: the next x_t."""
        return report(
            self.ticks,
            self.last,
            self.outlook,
            risks=tuple(self._risks()),
            signs=self._signs,
        )

    def slots(self) -> str:
        """The State Formatter's text of now."""
        return render(
            self.outlook,
            fear=self.fear,
            beliefs=self.beliefs,
            risks=tuple(self._risks()),
            place=self.ground.place,
        )

    def shown(self) -> dict[str, Any]:
        """What a snapshot of now shows of world, body and minds."""
        seen, (row, column) = self.outlook, self.ground.place
        symbols = {**_KINDS, **_CREATURES}
        rows = [list(line) for line in view_rows(seen)]
        for (south, east), name in {**seen.things, **seen.creatures, (0, 0): BODY}.items():
            rows[south + seen.sight][east + seen.sight] = symbols.get(name, name)
        shown = set().union(*rows)
        legend = {symbol: name for name, symbol in {**SYMBOLS, **symbols}.items()}
        return {
            "tick": self.ticks,
            "step": self.steps,
            "place": (row, column),
            "side": self.world.sizes.side,
            "view": tuple(map("".join, rows)),
            "legend": {symbol: name for symbol, name in legend.items() if symbol in shown},
            "path": self.last.path,
            **{name: getattr(seen, name) for name in _SHOWN},
            "fear": self.fear,
            "curiosity": self.last.bits,
            "steps": self.last.records,
            "scoreboard": self.last.board,
            "cells_seen": self.ground.cells_seen,
            "kinds_known": len(self.experience.kinds_known),
            "died_of": self.died_of,
        }

    def committed(self, plan: Plan) -> str:
        """What the tick's evidence says: objective, reflection, and the line that rebuilds it."""
        made = " ".join(map(_mark, self.last.records))
        settings = f"threshold {self.threshold:.2f}; exploration {self.exploration:.2f}"
        text = f"{one_line(plan.objective)}\n{one_line(plan.reflection)}"
        return f"{text}\nsteps: {made}; {settings}; body {_points(self.body)}"

    def replay(self, committed: Iterable[str]) -> Iterator[Tick]:
        """Live committed ticks again, from their texts, oldest first.

        Raises InputError where they do not fit this world, and what the world raises.
        """
        for text in committed:
            match = _STEPS.search(text)
            if match is not None and not self.is_over:
                self._set({}, float(match[2]), float(match[3]))
                tick = self.close_tick([self._again(*mark) for mark in _STEP.findall(match[1])])
                if _points(self.body) == match[4]:
                    yield tick
                    continue
            raise InputError(
                f"tick {max(self.ticks, 1)} of {self._key.session} cannot be lived again: the "
                "world's code has changed since. Live another --seed, or erase the run: "
                f"acc-ace memory erase --app {self._key.app} --user {self._key.user}"
            )

    def _again(self, evaded: str, mark: str, danger: str) -> StepRecord:
        if mark in _NOT_MADE:
            return StepRecord(wanted="", status=_NOT_MADE[mark], danger=float(danger))
        name = next(name for name, own in _MARKS.items() if own == mark)
        self.world.is_relived = True
        thing = self.outlook.things.get((0, 0), "")
        made = self.step({"use": f"use {thing}", "wait": "wait"}.get(name, f"move {name}"))
        self.world.is_relived = False
        status: StepStatus = "evaded" if evaded else "done"
        return made.model_copy(update={"status": status, "danger": float(danger)})

    def _risks(self) -> Iterator[str]:
        for danger in self._fears.dangers(self.outlook, self.beliefs)[:_MOST_RISKS]:
            yield f"{danger.kind} {bearing(danger.cell)}, harm {danger.harm:.2f}"

    def _take(self, observation: Observation, signs: Sequence[str]) -> int:
        self._observation, self._signs = observation, tuple(signs)
        self._forget()
        return self.ground.observe(observation)

    def _set(self, beliefs: Beliefs, threshold: float, exploration: float) -> None:
        self.beliefs, self.threshold, self.exploration = beliefs, threshold, exploration
        self._forget()

    def _forget(self) -> None:
        """What was worked out of the moment before does not hold any more."""
        for name in ("outlook", "fear"):
            self.__dict__.pop(name, None)


def _points(body: Body) -> str:
    return f"{body.life} {body.food} {body.water}"


def _mark(record: StepRecord) -> str:
    name = record.done.removeprefix("move ").partition(" ")[0]
    not_made = next((mark for mark, status in _NOT_MADE.items() if status == record.status), "-")
    evaded = "!" if record.status == "evaded" else ""
    return f"{evaded}{_MARKS.get(name, not_made)}{record.danger:.2f}"
