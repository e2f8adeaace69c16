"""The State Formatter: a moment as text in slots, cut to a budget, and the moment of such a text.

A slot is a line `name: item; item`; the view has its rows below it. Cells are told by their way,
'2 north 1 east'. Estimates are rounded to hundredths.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from acc_ace.core.text.tokens import clip_tokens, estimate_tokens
from acc_ace.errors import InputError
from acc_ace.ext.survivor.exploration import Outlook, Prospect
from acc_ace.ext.survivor.planner import Beliefs, shares
from acc_ace.ext.survivor.survival import Body, Cell, LoopSettings
from acc_ace.ext.survivor.world_rules import GAINS, Nature, apart

MAX_TOKENS: Final = 450
SYMBOLS: Final[Mapping[str, str]] = {
    **{"plain": "o", "rock": "R", "thicket": "T", "lava": "L", "safe": "S", "unseen": "x"}
}
"""Letters, since four of them are a token and four punctuation marks are four."""

BASIC, DANGER, RESOURCES, RISK = "basic state", "danger", "resources", "top risk"
SIGHT, VIEW, CHANCE, UNKNOWN = "in sight", "view", "top chance", "unknownness"
SLOTS: Final = (BASIC, DANGER, RESOURCES, RISK, SIGHT, VIEW, CHANCE, UNKNOWN)
"""基本状態, 危険指標, 資源, トップリスク, the sights, トップチャンス, 未知度."""

CUT_ORDER: Final = (CHANCE, UNKNOWN, VIEW, RISK, RESOURCES, SIGHT, DANGER)
"""What a small budget cuts first; the basic state always stays."""

_RISK_TOKENS, _OF_SOURCE = 40, 2
_SHORT: Final = 0.6
"""Share of the body below which a source of what is missing is a chance."""

_WAY: Final = r"here|\d{1,4} (?:north|south)(?: \d{1,4} (?:west|east))?|\d{1,4} (?:west|east)"
_STEP: Final = re.compile(r"(\d+) (north|south|west|east)")
_TERRAIN: Final = {symbol: terrain for terrain, symbol in SYMBOLS.items() if symbol != "x"}


def render(
    outlook: Outlook,
    *,
    fear: float,
    beliefs: Beliefs,
    risks: Sequence[str] = (),
    place: Cell | None = None,
    max_tokens: int = MAX_TOKENS,
) -> str:
    """The moment in slots, within `max_tokens` estimated tokens unless the basic state is longer.

    `fear` is P(damage) of waiting here, `risks` are texts, the worst first, and `place` is the
    absolute cell. Of places, the nearest two of a believed source are shown, the nearest of an
    unknown kind, none of a danger. A cut slot says how many of its items are missing; nearer ones
    stay.
    """
    body = outlook.body
    dangers = {"nearness": outlook.danger, "fear": fear, "threshold": outlook.threshold}
    slots = {
        BASIC: _basic(outlook, place),
        DANGER: [f"{name} {share:.2f}" for name, share in dangers.items()],
        RESOURCES: [f"food {body.food}/{body.most_food}", f"water {body.water}/{body.most_water}"],
        RISK: [clip_tokens(" ".join(risk.split()), _RISK_TOKENS) for risk in risks],
        SIGHT: sights(outlook),
        VIEW: _view(outlook),
        CHANCE: [*_chances(outlook, beliefs), *_known_ways(outlook, beliefs)],
        UNKNOWN: _unknown(outlook),
    }
    full = {name: len(items) for name, items in slots.items()}
    while estimate_tokens(text := _text(slots, full)) > max_tokens:
        items = next((slots[name] for name in CUT_ORDER if slots[name]), None)
        if items is None:
            break
        items.pop()
    return text


def read(text: str) -> Outlook:
    """The moment of the first such text within `text`, up to a blank line.

    What was cut away is unknown; without its slot a resource is full, and a setting has its
    default. Raises InputError when there is no basic state.
    """
    block = _BLOCK.search(text)
    slots = dict(_SLOT_LINE.findall(block[0] if block else ""))
    lines = {name: slots.get(name, "") for name in SLOTS}
    life = _pair(lines[BASIC], "life")
    if block is None or life is None:
        raise InputError("the text has no basic state such as 'basic state: life 7/12'")
    resources = (_pair(lines[RESOURCES], name) or (1, 1) for name in ("food", "water"))
    left, most = zip(life, *resources, strict=True)
    met = [(kind, _cell(way), state) for kind, way, state in _MET.findall(lines[SIGHT])]
    settings = LoopSettings()
    return Outlook(
        body=Body(**dict(zip(Body.model_fields, (*left, *most), strict=True))),
        is_night="night, " in lines[BASIC],
        light_left=int(_number(lines[BASIC], "(?:day|night),", 0)),
        is_safe="in the safe area" in lines[BASIC],
        sight=int(_number(lines[BASIC], "sight", 0)),
        terrain=_terrain(block[0]),
        things={cell: kind for kind, cell, state in met if not state},
        creatures={cell: kind for kind, cell, state in met if state},
        approaching=frozenset(cell for _, cell, state in met if state == " approaching"),
        places={
            kind: tuple(_cell(way) for way in ways.split(", "))
            for kind, ways in _PLACES.findall(lines[CHANCE])
        },
        safe=_way_to("safe area", lines[CHANCE]),
        frontier=_way_to("frontier", lines[UNKNOWN]),
        danger=_number(lines[DANGER], "nearness", 0.0),
        threshold=_number(lines[DANGER], "threshold", settings.danger_threshold),
        exploration=_number(lines[UNKNOWN], "exploration", settings.exploration),
        unknown=_number(lines[UNKNOWN], "new", 0.0),
        season=int(_number(lines[BASIC], "season", 0)),
        frontier_bits=_number(lines[UNKNOWN], "unseen there", 0.0),
        prospects={
            kind: Prospect(float(bits), float(harm))
            for kind, bits, harm in re.findall(_PROSPECT, lines[UNKNOWN])
        },
    )


def bearing(cell: Cell) -> str:
    """A relative cell in words: '2 north 1 east', or 'here'."""
    names = (("north", "south"), ("west", "east"))
    way = [f"{abs(to)} {name[to > 0]}" for to, name in zip(cell, names, strict=True) if to]
    return " ".join(way) or "here"


def sights(outlook: Outlook) -> list[str]:
    """Creatures and then things in sight with their way, the nearest first."""
    creatures = (
        f"{kind} {bearing(cell)} {'approaching' if cell in outlook.approaching else 'away'}"
        for cell, kind in _nearest(outlook.creatures)
    )
    return [*creatures, *(f"{kind} {bearing(cell)}" for cell, kind in _nearest(outlook.things))]


def view_rows(outlook: Outlook) -> tuple[str, ...]:
    """The terrain in sight as rows of SYMBOLS, north first, the body in the middle."""
    reach = range(-outlook.sight, outlook.sight + 1)
    return tuple(
        "".join(SYMBOLS[outlook.terrain.get((row, column), "unseen")] for column in reach)
        for row in reach
    )


def _basic(outlook: Outlook, place: Cell | None) -> list[str]:
    light = "night" if outlook.is_night else "day"
    return [
        f"life {outlook.body.life}/{outlook.body.most_life}",
        f"{light}, {outlook.light_left} steps left",
        f"season {outlook.season}",
        f"sight {outlook.sight}",
        *(["in the safe area"] if outlook.is_safe else []),
        *([f"at row {place[0]}, column {place[1]}"] if place else []),
    ]


def _view(outlook: Outlook) -> list[str]:
    rows = view_rows(outlook)
    seen = set().union(*rows)
    legend = ", ".join(f"{symbol} {name}" for name, symbol in SYMBOLS.items() if symbol in seen)
    return ["\n".join([f"north first, you in the middle; {legend}", *rows])]


def _chances(outlook: Outlook, beliefs: Beliefs) -> Iterator[str]:
    """The nearest known source of each thing that is short, the shortest first."""
    known = [(cell, kind) for cell, kind in outlook.things.items()]
    known += [(cell, kind) for kind, cells in outlook.places.items() for cell in cells]
    for need, share in sorted(shares(outlook.body).items(), key=lambda each: each[1]):
        sources = [
            (apart(cell), cell, kind)
            for cell, kind in known
            if kind in beliefs and beliefs[kind].nature == GAINS[need]
        ]
        if share < _SHORT and sources:
            _, cell, kind = min(sources)
            yield f"for {need}: {kind} {bearing(cell)}"


def _known_ways(outlook: Outlook, beliefs: Beliefs) -> Iterator[str]:
    """The safe area, and places: of a source, the nearest of what is unknown, no danger's."""
    if outlook.safe is not None:
        yield f"safe area {bearing(outlook.safe)}"
    natures = {kind: belief.nature for kind, belief in beliefs.items()}
    places = [(kind, cells) for kind, cells in outlook.places.items() if cells]
    for kind, cells in sorted(places, key=lambda each: (apart(each[1][0]), each)):
        nature = natures.get(kind)
        if nature != Nature.DANGER:
            shown = cells[: _OF_SOURCE if nature in GAINS.values() else 1]
            yield f"{kind} at {', '.join(map(bearing, shown))}"


def _unknown(outlook: Outlook) -> list[str]:
    return [
        f"exploration {outlook.exploration:.2f}",
        f"new {outlook.unknown:.2f}",
        *([f"frontier {bearing(outlook.frontier)}"] if outlook.frontier else []),
        *([f"unseen there {outlook.frontier_bits:.2f} bits"] if outlook.frontier else []),
        *(
            f"{kind} {bits:.2f} bits, harm {harm:.2f}"
            for kind, (bits, harm) in outlook.prospects.items()
        ),
    ]


def _text(slots: Mapping[str, list[str]], full: Mapping[str, int]) -> str:
    lines = []
    for name, items in slots.items():
        cut = full[name] - len(items)
        if items:
            lines.append(f"{name}: {'; '.join([*items, *([f'+{cut} more'] if cut else [])])}")
    return "\n".join(lines)


def _nearest(sight: Mapping[Cell, str]) -> list[tuple[Cell, str]]:
    return sorted(sight.items(), key=lambda each: (apart(each[0]), each))


_BLOCK: Final = re.compile(rf"^{BASIC}: .*(?:\n.+)*", re.MULTILINE)
_SLOT_LINE: Final = re.compile(rf"^({'|'.join(SLOTS)}): (.*)$", re.MULTILINE)
_ROWS: Final = re.compile(
    rf"^{VIEW}: .*\n(?P<rows>(?:[{''.join(SYMBOLS.values())}]+(?:\n|$))+)", re.M
)
_MET: Final = re.compile(rf"(?:^|; )(\w+) ({_WAY})( approaching| away)?(?=;|$)")
_PLACES: Final = re.compile(rf"(?:^|; )(\w+) at ((?:{_WAY})(?:, (?:{_WAY}))*)(?=;|$)")
_PROSPECT: Final = r"(\w+) (\d+\.\d\d) bits, harm (\d\.\d\d)"


def _terrain(text: str) -> dict[Cell, str]:
    match = _ROWS.search(text)
    rows = match["rows"].split() if match else []
    middle = len(rows) // 2
    return {
        (row - middle, column - middle): _TERRAIN[symbol]
        for row, symbols in enumerate(rows)
        for column, symbol in enumerate(symbols)
        if symbol in _TERRAIN
    }


def _cell(way: str) -> Cell:
    steps = {name: int(number) for number, name in _STEP.findall(way)}
    return (
        steps.get("south", 0) - steps.get("north", 0),
        steps.get("east", 0) - steps.get("west", 0),
    )


def _way_to(name: str, items: str) -> Cell | None:
    match = re.search(rf"\b{name} ({_WAY})(?=;|$)", items)
    return _cell(match[1]) if match else None


def _pair(items: str, name: str) -> tuple[int, int] | None:
    match = re.search(rf"\b{name} (\d{{1,6}})/([1-9]\d{{0,5}})\b", items)
    return (int(match[1]), int(match[2])) if match else None


def _number(items: str, name: str, default: float) -> float:
    match = re.search(rf"\b{name} (\d{{1,6}}(?:\.\d+)?)\b", items)
    return float(match[1]) if match else default
