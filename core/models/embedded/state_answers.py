"""Answers about the state itself: its rules, its goal, the whole situation."""

import re

from core.domain.language.sentences import split_sentences
from core.models.embedded.entities import find_entities
from core.models.embedded.intents import asks_permission
from core.models.embedded.quoting import quoted_lines
from core.models.embedded.rule_answers import rule_lines
from core.models.embedded.situation import Said, Situation, facts_held, told_relation
from core.models.embedded.speech import orders, questions
from core.models.embedded.wording import cited, say

_WHO = r"(?:i|we|you)"
_DUTY = rf"(?:must|should|shall|may) {_WHO} (?:not|never)|(?:mustn|shouldn)['’]t {_WHO}"
_ABILITY = rf"(?:can|do) {_WHO} (?:not|never)|can['’]t {_WHO}"
_ASKS_RULES = re.compile(
    r"\b(?:constraints?|rules?(?! out\b)|bans?|polic(?:y|ies)|restrictions?|not allowed"
    rf"|forbidden|prohibited|allowed to|(?:i|we) (?:forbid|forbade|prohibit)"
    rf"|what (?:{_DUTY}|{_WHO} (?:must|should|may) (?:not|never))"
    r"(?! (?:forget|miss|overlook|lose|underestimate)\b)"
    rf"|what (?:{_ABILITY}|{_WHO} can (?:not|never))"
    r"(?: (?:do|touch|change)\b|(?=\s*(?:[?.!,;]|$))))"
    r"(?!\w)"
    r"|制約|ルール|決まり|規則|禁止|しては(?:いけ|なら|だめ|ダメ|駄目)",
    re.IGNORECASE,
)
"""What cannot be done is a question of rules only when it asks for no more: "restore" asks more."""
_ASKS_GOAL = re.compile(
    r"\b(?:goal|objective|trying to (?:do|achieve)|purpose)\b|目標|目的|ゴール", re.IGNORECASE
)
_ASKS_STATUS = re.compile(
    r"\b(?:where (?:are|do) we|status|situation|summar\w+|recap|so far|what do you know"
    r"|what's going on|catch me up)\b|状況|まとめ|現状|要約|把握している",
    re.IGNORECASE,
)


def tell_state(situation: Situation) -> Said | None:
    """Questions about the rules, the goal or the whole situation."""
    asked = " ".join((*questions(situation.text), *orders(situation.text)))
    if not asked:
        return None
    if _ASKS_RULES.search(asked) and not asks_permission(asked):
        return Said(tuple(rule_lines(situation, about=asked)), "listed the constraints")
    if _ASKS_GOAL.search(asked):
        goal = situation.state.ccs.goal_orientation
        line = (
            say("goal", situation.language, goal=goal)
            if goal
            else say("no_goal", situation.language)
        )
        return Said((line,), "quoted the goal")
    if _ASKS_STATUS.search(asked) and not find_entities(asked):
        return _status(situation)
    return None


def _status(situation: Situation) -> Said:
    ccs, language = situation.state.ccs, situation.language
    lines = [say("situation", language)]
    if ccs.goal_orientation:
        lines.append("- " + say("goal", language, goal=ccs.goal_orientation))
    facts = [fact for fact in facts_held(situation) if not fact.cite.startswith(("b-", "c-"))]
    lines += quoted_lines(facts[:5])
    lines += [
        f"- {text}{cited(situation.state.constraint_id(text))}" for text in ccs.constraints[:6]
    ]
    open_items = [
        item for item in split_sentences(ccs.uncertainty_signal) if item not in situation.text
    ]
    if open_items:
        what = told_relation(open_items[0].rstrip(".。"), language)
        lines.append("- " + say("open", language, what=what))
    return Said(tuple(lines), "summed up the state")
