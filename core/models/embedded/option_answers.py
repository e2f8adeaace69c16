"""Answers about options: take in a list, list it, resolve 'the second one'."""

import re

from core.models.embedded.gist import without_list
from core.models.embedded.options import listed_options, pick, referred_option
from core.models.embedded.quoting import bearing_on, quoted_lines
from core.models.embedded.situation import Said, Situation
from core.models.embedded.speech import is_question, orders, questions
from core.models.embedded.wording import say

_ASKS_OPTIONS = re.compile(
    r"\b(?:options|alternatives|choices|ways forward)\b|選択肢|候補|どんな案|どのような案|案を",
    re.IGNORECASE,
)


def take_options(situation: Situation) -> Said | None:
    """Confirm a list of options that x_t itself brings."""
    options = listed_options(situation.text)
    if not options or questions(without_list(situation.text)):
        return None
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    return Said((say("options_noted", situation.language), *numbered), "took in the options")


def list_options(situation: Situation) -> Said | None:
    """List the options on offer when x_t asks for them."""
    options = situation.options
    asked = (*questions(situation.text), *orders(situation.text))
    if not options or not any(_ASKS_OPTIONS.search(item) for item in asked):
        return None
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    return Said((say("options", situation.language), *numbered), "listed the options on offer")


def resolve_option(situation: Situation) -> Said | None:
    """Resolve 'the second option' against the list on offer."""
    number = referred_option(situation.text)
    if number is None:
        return None
    option = pick(situation.options, number)
    if option is None:
        return Said((say("no_option", situation.language),), "no such option on offer")
    lines = [chosen_line(situation, number, option), say("allowed", situation.language)]
    lines += quoted_lines(bearing_on(situation, option, limit=1))
    if any(not is_question(item) for item in orders(situation.text)):
        lines.append(say("cannot_act", situation.language))
    return Said(tuple(lines), "resolved the option from the state")


def chosen_line(situation: Situation, number: int | None, option: str | None) -> str:
    """'Option 2: …', with the number that the option has on offer."""
    place = len(situation.options) if number == -1 else number
    return say("chosen", situation.language, number=place, option=option)
