"""A gridworld where one lives as long as life lasts (gymnasium.Env).

Each step costs food and water; without either, life. Things stand at places and grow back there
when used, until half of them change places as a season begins. Lava burns, hunters bite, the safe
area heals who is fed. The same rules, sizes, seed and actions always give the same life.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from acc_ace.errors import InputError
from acc_ace.ext.survivor.survival import Cell
from acc_ace.ext.survivor.world_rules import (
    ACTIONS,
    BEASTS,
    CREATURES,
    FED,
    HEADINGS,
    KINDS,
    LAVA,
    MOVES,
    PLAIN,
    ROCK,
    SAFE,
    SEASONS,
    SIGNS,
    STRANGER,
    TERRAIN,
    THICKET,
    THICKET_COST,
    Codes,
    Nature,
    Sizes,
    WorldRules,
    apart,
    beside,
    lay_out,
    towards,
)

LIVED, POINT = 0.1, 0.1
"""Reward of a step, and of each point of life that is gained or lost."""

HAUNTS: Final = (PLAIN, THICKET)
"""Terrain that creatures walk on."""

NOTICE, PACE = (3, 4), (2, 3)
"""By day, by night: steps from which a creature notices the body; of so many steps it rests one."""

STAMINA, SATED, TURN = 10, 20, 0.2
"""Steps of a chase, steps without one afterwards; chance of a turn while wandering."""

FORAGE: Final = 8
"""Steps from which the stranger goes for a thing."""

LESSON, MOST_STAMINA = 1, 16
"""Steps by which a chase in vain makes the next one longer, and of the longest."""

Observation = dict[str, Any]
"""Arrays by name; gymnasium types the values of its Dict space as spaces."""


class Touch(NamedTuple):
    """What a thing, a creature or a terrain did to the body, in points within its bounds."""

    kind: str
    life: int = 0
    food: int = 0
    water: int = 0


@dataclass
class _Creature:
    """A creature: where it is and heads, for how many steps it chases or has lost interest."""

    kind: str
    at: Cell
    heading: str = ""
    chase: int = 0
    sated: int = 0
    stamina: int = STAMINA

    def act(self, world: "World") -> bool:
        """Chase the body or wander; True for a bite.

        What is noticed from afar is faced for a step before it is followed, so that each bite
        has been announced in two observations.
        """
        far = apart(self.at, world._at)
        is_beast = self.kind != STRANGER
        hunts = self.kind == world.rules.hunter if is_beast else world.rules.is_foe
        self.sated = max(self.sated - 1, 0)
        notices = far <= NOTICE[world._is_night] and not self.sated and not world._is_safe
        if not notices or not (self.chase or far > 1) or not (is_beast or hunts):
            self.chase = 0
            if is_beast or not self._forage(world):
                self._wander(world)
            return False
        self.chase += 1
        rests = self.chase == 1 or world._step % PACE[world._is_night] == 0
        bites = hunts and far == 1 and self.chase > 2 and not rests
        if bites or self.chase > self.stamina:
            # Who missed its prey learns to keep on for longer.
            self.stamina = STAMINA if bites else min(self.stamina + LESSON, MOST_STAMINA)
            self.chase, self.sated = 0, SATED
        elif not rests and far > 1:
            any(self._walk(world, way) for way in towards(self.at, world._at))
        self.heading = towards(self.at, world._at)[0]
        return bites

    def _forage(self, world: "World") -> bool:
        """Go for the nearest thing that does good, and use it; False where none is near."""
        natures = world._natures
        good = [KINDS.index(kind) + 1 for kind in KINDS if natures[kind] is not Nature.DANGER]
        rows, columns = np.nonzero(np.isin(world._things, good))
        cells = zip(rows.tolist(), columns.tolist(), strict=True)
        ways = [(apart(self.at, cell), cell) for cell in cells]
        far, cell = min(ways, default=(FORAGE + 1, self.at))
        if far > FORAGE or world._step % 2:
            return far <= FORAGE
        if not far:
            world._watched = world._taken(self.at)
        return not far or any(self._walk(world, way) for way in towards(self.at, cell))

    def _wander(self, world: "World") -> None:
        if world._step % 2:
            return
        if not self.heading or world.np_random.random() < TURN:
            self.heading = HEADINGS[int(world.np_random.integers(len(HEADINGS)))]
        if self.heading and not self._walk(world, self.heading):
            self.heading = ""

    def _walk(self, world: "World", way: str) -> bool:
        target = beside(self.at, way)
        taken = {world._at, *(each.at for each in world._creatures)}
        if world._terrain[target] not in HAUNTS or target in taken:
            return False
        self.at, self.heading = target, way
        return True


class World(gymnasium.Env[Observation, np.int64]):
    """One body among things, creatures and signs.

    Observed are, as arrays of int64 unless said otherwise:
    `body` life, food and water; `place` row and column; `terrain`, `things`, `creatures` and
    `headings` (2 · sight + 1)² views of codes with the body in the middle (0 is nothing or
    unseen; things and creatures are their number + 1, headings those of HEADINGS); `light`
    is-night and steps to the change; `season` its number; `is_safe` 0 or 1; `danger` nearness of
    the nearest approaching creature and `unknown` the share of seen cells that are new, float32
    from 0 to 1; `damage` life lost in the last step.
    `info` holds `touch` (Touch of what was used, or None), `hits` (tuple of Touch, by creatures
    and lava), `watched` (what the stranger was seen to use, or None) and `signs` (texts in sight).
    """

    def __init__(
        self, rules: WorldRules, sizes: Sizes | None = None, signs: Sequence[str] = SIGNS
    ) -> None:
        self.rules, self.sizes, self.signs = rules, sizes or Sizes(), tuple(signs)
        self.is_relived = False
        """Whether a step is one that was made before, in a process that is gone."""
        self.acts: dict[str, str] = {}
        """What using a kind does beyond the world, in words that rules may have; by kind."""
        size = self.sizes
        self._most: tuple[int, ...] = (size.life, size.food, size.water)
        self.action_space = spaces.Discrete(len(ACTIONS))
        self.observation_space = spaces.Dict(_spaces(size, np.array(self._most)))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Lay out a world; the same seed gives the same one. `options` are for other worlds.

        Raises InputError for more signs than the ground has room for.
        """
        super().reset(seed=seed, options=options)
        ground = lay_out(self.np_random, self.sizes, self.signs)
        self._terrain, self._things, self._signs, creatures, self._at = ground
        kinds = (*BEASTS * self.sizes.creatures, STRANGER)
        self._creatures = list(map(_Creature, kinds, creatures))
        self._watched: Touch | None = None
        self._body, self._step, self._damage = self._most, 0, 0
        self._regrows: dict[int, list[tuple[Cell, int]]] = {}
        side, sight = self.sizes.side, self.sizes.sight
        self._seen = np.pad(np.zeros((side, side), dtype=bool), sight, constant_values=True)
        return self._observed(), self._info(None, ())

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Live one step. Ends when life is gone; is cut off after `sizes.steps` steps.

        Raises InputError for an action that is none.
        """
        if not self.action_space.contains(action):
            raise InputError(f"an action is a number from 0 to {len(ACTIONS) - 1}, not {action!r}")
        name, before = ACTIONS[int(action)], self._body[0]
        # Things act by the season that was observed, also in its last step.
        self._natures = self.rules.natures_in(self._season)
        self._step += 1
        self._watched = None
        touch = self.use() if name == "use" else None
        self._tire(name in MOVES and self._move(name))
        hits = self._hurt()
        self._regrow()
        if not self._step % self.sizes.season:
            self._shift()
        life = self._body[0]
        self._damage = max(before - life, 0)
        reward = LIVED + POINT * (life - before)
        over = self._step >= self.sizes.steps
        return self._observed(), reward, life == 0, over, self._info(touch, hits)

    @property
    def _season(self) -> int:
        return self._step // self.sizes.season % SEASONS

    @property
    def _is_night(self) -> bool:
        return self._step % (self.sizes.day + self.sizes.night) >= self.sizes.day

    @property
    def _is_safe(self) -> bool:
        return bool(self._terrain[self._at] == SAFE)

    def _change(self, life: int = 0, food: int = 0, water: int = 0) -> tuple[int, int, int]:
        """Change the body within its bounds; returns what has changed."""
        before = self._body
        wanted = zip(before, (life, food, water), self._most, strict=True)
        self._body = tuple(min(max(has + by, 0), most) for has, by, most in wanted)
        life, food, water = (now - was for now, was in zip(self._body, before, strict=True))
        return life, food, water

    def _move(self, name: str) -> bool:
        """Step, or swap places with a creature, unless that would put it where none goes."""
        origin, target = self._at, beside(self._at, name)
        met = [each for each in self._creatures if each.at == target]
        if self._terrain[target] == ROCK or (met and self._terrain[origin] not in HAUNTS):
            return False
        for creature in met:
            creature.at = origin
        self._at = target
        return True

    def use(self) -> Touch | None:
        """What the step 'use' does; another world may make more of it."""
        thing = self._taken(self._at)
        return thing and Touch(thing.kind, *self._change(*thing[1:]))

    def _taken(self, cell: Cell) -> Touch | None:
        """Take the thing of a cell, until it grows back; returns what it does to a body."""
        code = int(self._things[cell])
        if not code:
            return None
        self._things[cell] = 0
        self._regrows.setdefault(self._step + self.sizes.regrowth, []).append((cell, code))
        kind, size = KINDS[code - 1], self.sizes
        change = {
            Nature.FOOD: (0, size.meal, 0),
            Nature.WATER: (0, 0, size.drink),
            Nature.REMEDY: (size.cure, 0, 0),
            Nature.DANGER: (-size.harm, 0, 0),
        }[self._natures[kind]]
        return Touch(kind, *change)

    def _tire(self, moved: bool) -> None:
        cost = 1 + THICKET_COST * (moved and bool(self._terrain[self._at] == THICKET))
        life, food, water = self._body
        starved = not (food and water)
        fed = food >= FED * self._most[1] and water >= FED * self._most[2]
        rested = self._is_safe and fed and life > 0 and self._step % self.sizes.rest == 0
        self._change(rested - starved, -cost, -cost)

    def _hurt(self) -> tuple[Touch, ...]:
        harms = [("lava", self.sizes.burn)] if self._terrain[self._at] == LAVA else []
        harms += [(each.kind, self.sizes.bite) for each in self._creatures if each.act(self)]
        return tuple(Touch(kind, self._change(-harm)[0]) for kind, harm in harms)

    def _regrow(self) -> None:
        for cell, code in self._regrows.pop(self._step, ()):
            self._things[cell] = code

    def _shift(self) -> None:
        """Half of the things change places: a season begins."""
        cells = np.argwhere(self._things)
        moved = self.np_random.permutation(len(cells))[: len(cells) // 2]
        rows, columns = cells[moved].T
        self._things[rows, columns] = np.roll(self._things[rows, columns], 1)

    def _observed(self) -> Observation:
        sight, (row, column) = self.sizes.sight, self._at
        window = np.s_[row - sight : row + sight + 1, column - sight : column + sight + 1]
        reach = min(self.sizes.night_sight, sight) if self._is_night else sight
        lit = np.pad(np.full((2 * reach + 1,) * 2, True), sight - reach)
        creatures, headings = np.zeros((2, *lit.shape), dtype=np.int64)
        danger = 0.0
        for each in self._creatures:
            south, east = each.at[0] - row, each.at[1] - column
            if max(abs(south), abs(east)) <= reach:
                cell = (south + sight, east + sight)
                creatures[cell] = CREATURES.index(each.kind) + 1
                headings[cell] = HEADINGS.index(each.heading)
                if each.heading in towards((south, east)):
                    danger = max(danger, 1 / max(apart((south, east)), 1))
        self._observed_creatures = creatures
        unknown = float((lit & ~self._seen[window]).sum() / lit.sum())
        self._seen[window] |= lit
        length = self.sizes.day + self.sizes.night
        at = self._step % length
        left = (length if self._is_night else self.sizes.day) - at
        return {
            "body": np.array(self._body, dtype=np.int64),
            "place": np.array((row - sight, column - sight), dtype=np.int64),
            "terrain": self._terrain[window] * lit,
            "things": self._things[window] * lit,
            "creatures": creatures,
            "headings": headings,
            "light": np.array((self._is_night, left), dtype=np.int64),
            "season": np.array(self._season, dtype=np.int64),
            "is_safe": np.array(self._is_safe, dtype=np.int64),
            "danger": np.array(danger, dtype=np.float32),
            "unknown": np.array(unknown, dtype=np.float32),
            "damage": np.array(self._damage, dtype=np.int64),
        }

    def _info(self, touch: Touch | None, hits: tuple[Touch, ...]) -> dict[str, Any]:
        near = [
            text
            for (row, column), text in self._signs.items()
            if max(abs(row - self._at[0]), abs(column - self._at[1])) <= self.sizes.sight
        ]
        is_seen = bool((self._observed_creatures == CREATURES.index(STRANGER) + 1).any())
        watched = self._watched if is_seen else None
        return {"touch": touch, "hits": hits, "signs": tuple(near), "watched": watched}


def _spaces(size: Sizes, most: Codes) -> dict[str, spaces.Space[Any]]:
    window = (2 * size.sight + 1,) * 2

    views = {"terrain": TERRAIN[1:], "things": KINDS, "creatures": CREATURES, "headings": MOVES}
    numbers = {"season": SEASONS - 1, "is_safe": 1, "damage": size.life}
    share = spaces.Box(0.0, 1.0, (), dtype=np.float32)
    return {
        "body": spaces.Box(np.zeros(3, dtype=np.int64), most, dtype=np.int64),
        "place": spaces.Box(0, size.side - 1, (2,), dtype=np.int64),
        "light": spaces.Box(0, max(size.day, size.night), (2,), dtype=np.int64),
        "danger": share,
        "unknown": share,
        **{name: spaces.Box(0, len(of), window, np.int64) for name, of in views.items()},
        **{name: spaces.Box(0, most, (), np.int64) for name, most in numbers.items()},
    }
