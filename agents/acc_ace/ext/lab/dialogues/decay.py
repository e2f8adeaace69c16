"""Dialogues in which fields get values, and get others, among talk that counts for nothing.

Fields, values and the order of all are drawn by the seed. After each stretch of turns some fields
are asked for; at the end all.
"""

import random
from typing import Final

from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Exchange, Inquiry

_STRETCH: Final = 10
"""Turns between questions."""

_SHARE: Final = 0.3
"""Of turns that give a field a value."""

_THINGS: Final = ("Alder", "Birch", "Cedar", "Hazel", "Maple", "Rowan")
_VALUES: Final = {
    "owner": ("Aiko", "Bruno", "Chloe", "Dmitri", "Esther", "Farid", "Greta", "Hiro"),
    "region": ("Oslo", "Osaka", "Lima", "Cairo", "Quito", "Turin", "Perth", "Sendai"),
    "budget": ("4,100", "5,250", "6,300", "7,450", "8,600", "9,750", "11,200", "12,900"),
    "deadline": ("3 March", "9 April", "14 May", "21 June", "8 July", "17 August"),
    "port": ("7101", "7214", "7333", "7450", "7562", "7671", "7784", "7899"),
}
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
    steps: list[Exchange | Inquiry] = []
    for turn in range(1, turns + 1):
        if turn == 1 or drawn.random() < _SHARE:
            steps.append(_told(drawn, values))
        else:
            steps.append(Exchange(user=drawn.choice(_TALK), agent=_REPLY))
        if turn == turns:
            steps += [_inquiry(turn, field, history) for field, history in values.items()]
        elif turn % _STRETCH == 0:
            fields = drawn.sample([*values], min(2, len(values)))
            steps += [_inquiry(turn, field, values[field]) for field in fields]
    return Dialogue(name=name, steps=(*steps,))


def _told(drawn: random.Random, values: dict[tuple[str, str], list[str]]) -> Exchange:
    field = thing, what = drawn.choice(_THINGS), drawn.choice([*_VALUES])
    earlier = values.setdefault(field, [])
    fresh = [value for value in _VALUES[what] if value not in earlier] or [*_VALUES[what]]
    value = drawn.choice(fresh)
    again = "From now on the" if earlier else "The"
    earlier[:] = [*(each for each in earlier if each != value), value]
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
