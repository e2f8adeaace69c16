"""Answers about facts: questions, corrections, orders, news, small talk."""

import re

from core.domain.language.injection import instruction_like
from core.domain.language.sentences import split_sentences
from core.domain.tokens import clip_tokens
from core.models.embedded.answering import answer_by_goal, answer_question, is_sure
from core.models.embedded.gist import facts_of
from core.models.embedded.quoting import bearing_on, lessons_for, quoted_lines
from core.models.embedded.situation import Call, Said, Situation
from core.models.embedded.speech import (
    is_correction,
    is_greeting,
    is_praise,
    orders,
    questions,
)
from core.models.embedded.tool_use import SEARCH, search_call
from core.models.embedded.wording import cited, say

_THANKS = re.compile(r"thank|thx|cheers|ありがと|助かり", re.IGNORECASE)
_HELLO = re.compile(
    r"\b(?:hi|hello|hey|good (?:morning|afternoon|evening))\b|おはよう|こんにちは"
    r"|こんばんは|お疲れ",
    re.I,
)


def greet(situation: Situation) -> Said | None:
    """Answer small talk in kind."""
    if not is_greeting(situation.text):
        return None
    name = "ok"
    if _THANKS.search(situation.text):
        name = "welcome"
    elif _HELLO.search(situation.text):
        name = "hello"
    return Said((say(name, situation.language),), "small talk")


def answer(situation: Situation) -> Said | Call | None:
    """Answer a question from the state, from a search of the evidence, or say that it is open."""
    asked = questions(situation.text)
    if not asked:
        return None
    sure = is_sure(situation, asked[-1])
    if not sure and (by_goal := answer_by_goal(situation, asked[-1])) is not None:
        return by_goal
    answer = answer_question(situation, asked[-1])
    if SEARCH in situation.tools and not sure:
        return search_call(situation)
    if answer is not None:
        return answer
    open_items = [
        item
        for item in split_sentences(situation.state.ccs.uncertainty_signal)
        if item not in asked
    ]
    lines = [say("unknown", situation.language)]
    if open_items:
        lines.append(say("open", situation.language, what=open_items[0]))
    return Said(tuple(lines), "nothing held answers the question")


def take_correction(situation: Situation) -> Said | None:
    """Thank for a correction and say what was noted of it, if it says what it is about."""
    if not is_correction(situation.text):
        return None
    facts = facts_of(situation.text)
    if not facts:
        line = say("corrected_what", situation.language)
        return Said((line,), "the correction names nothing")
    line = say("corrected", situation.language, what=clip_tokens(" ".join(facts[:2]), 80))
    return Said((line,), "the user corrected the previous answer")


def answer_order(situation: Situation) -> Said | None:
    """Say that no tool does this, and quote what bears on it."""
    wanted = orders(situation.text)
    if not wanted:
        return None
    known = bearing_on(situation, wanted[0], limit=3)
    lines = [say("cannot_act", situation.language), situation.tell_rule("allowed")]
    if known:
        lines += [say("known", situation.language), *quoted_lines(known)]
    used = tuple(fact.cite for fact in known if fact.cite.startswith("b-"))
    return Said(tuple(lines), "no tool does this; quoted what bears on it", used)


def take_praise(situation: Situation) -> Said | None:
    """Note a success."""
    if not is_praise(situation.text) or questions(situation.text):
        return None
    return Said((say("glad", situation.language),), "the user reported a success")


def take_in(situation: Situation) -> Said:
    """Answer for a tool's or a document's text: its facts are noted, its orders are not obeyed."""
    sentences = split_sentences(situation.text)
    safe = [item for item in sentences if instruction_like(item) is None]
    facts = facts_of("\n".join(safe))
    what = clip_tokens(" ".join(facts[:2]), 60)
    lines = [say("noted", situation.language, what=what)] if what else []
    if len(safe) < len(sentences):
        lines.append(say("left_out", situation.language))
    return Said(
        tuple(lines) or (say("noted_short", situation.language),), "took in text that may not rule"
    )


def acknowledge(situation: Situation) -> Said:
    """Say what was noted, with a lesson that applies."""
    facts = facts_of(situation.text)
    if not facts:
        return Said((say("noted_short", situation.language),), "nothing to answer")
    lines = [say("noted", situation.language, what=clip_tokens(facts[0], 60))]
    lessons = lessons_for(situation, situation.text)
    lines += [
        say("lesson", situation.language, what=f"{fact.text}{cited(fact.cite)}")
        for fact in lessons[:1]
    ]
    return Said(tuple(lines), "took in a fact", tuple(fact.cite for fact in lessons[:1]))
