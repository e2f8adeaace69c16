"""Dialogues in which fields get values, and get others, among talk that counts for nothing.

Fields, values and the order of all are drawn by the seed. After each stretch of turns some fields
are asked for; at the end all.
"""

import random
from collections.abc import Callable, Mapping
from string import ascii_uppercase
from typing import Final

from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Exchange, Inquiry, words

_STRETCH: Final = 10
"""Turns between questions."""

_SHARE: Final = 0.3
"""Of turns that give a field a value."""

_THINGS: Final = ("Alder", "Birch", "Cedar", "Hazel", "Maple", "Rowan")
_NAMES: Final = ("Aiko", "Bruno", "Chloe", "Dmitri", "Esther", "Farid", "Greta", "Hiro")
_CITIES: Final = ("Oslo", "Osaka", "Lima", "Cairo", "Quito", "Turin", "Perth", "Sendai")
_MONTHS: Final = ("March", "April", "May", "June", "July", "August", "October", "November")
_FIELDS: Final[Mapping[str, Callable[[random.Random], str]]] = {
    "owner": lambda drawn: f"{drawn.choice(_NAMES)} {drawn.choice(ascii_uppercase)}",
    "region": lambda drawn: f"{drawn.choice(_CITIES)} {drawn.randint(1, 40)}",
    "budget": lambda drawn: f"{drawn.randint(1_000, 99_999):,}",
    "deadline": lambda drawn: f"{drawn.randint(1, 28)} {drawn.choice(_MONTHS)}",
    "port": lambda drawn: str(drawn.randint(1_024, 65_535)),
}
"""What a field can be; no value is given twice in a dialogue."""

_TALK: Final = (
    "Can you explain what a load balancer does?",
    "Thanks, that was helpful.",
    "Write me a short greeting for the weekly call.",
    "What would be a good name for a build server?",
    "The coffee machine broke again, by the way.",
    "How do people usually take notes in meetings?",
    "Give me two ideas for a team lunch.",
    "I read an article on tidal power this morning.",
)
_REPLY: Final = "Here is a short answer, with a detail or two that may be of use later on."


def decay_dialogues(count: int, turns: int, seed: int) -> list[Dialogue]:
    """So many dialogues, each of so many exchanges."""
    return [_dialogue(f"d{number}", turns, f"{seed} {number}") for number in range(1, count + 1)]


def _dialogue(name: str, turns: int, seed: str) -> Dialogue:
    drawn = random.Random(seed)  # noqa: S311 - repeatable, no secret
    values: dict[tuple[str, str], list[str]] = {}
    used: set[str] = set()
    steps: list[Exchange | Inquiry] = []
    for turn in range(1, turns + 1):
        if turn == 1 or drawn.random() < _SHARE:
            steps.append(_told(drawn, values, used))
        else:
            steps.append(Exchange(user=drawn.choice(_TALK), agent=_REPLY))
        if turn == turns:
            steps += [_inquiry(turn, field, history) for field, history in values.items()]
        elif turn % _STRETCH == 0:
            fields = drawn.sample([*values], min(2, len(values)))
            steps += [_inquiry(turn, field, values[field]) for field in fields]
    return Dialogue(name=name, steps=(*steps,))


def _told(
    drawn: random.Random, values: dict[tuple[str, str], list[str]], used: set[str]
) -> Exchange:
    thing, what = drawn.choice(_THINGS), drawn.choice([*_FIELDS])
    value = next(each for each in iter(lambda: _FIELDS[what](drawn), "") if words(each) not in used)
    used.add(words(value))
    again = "From now on the" if (thing, what) in values else "The"
    values.setdefault((thing, what), []).append(value)
    return Exchange(user=f"{again} {what} of project {thing} is {value}.", agent="Noted.")


def _inquiry(turn: int, field: tuple[str, str], values: list[str]) -> Inquiry:
    *outdated, value = values
    thing, what = field
    return Inquiry(
        name=f"{turn} {thing} {what}",
        kind=what,
        ask=f"What is the {what} of project {thing} now?",
        facts=(value,),
        outdated=(*outdated,),
        rubric=(f"The {what} of project {thing} is {value}.",),
    )
