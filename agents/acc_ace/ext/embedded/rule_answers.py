"""Answers about the rules and the goal: what stands in the way, what holds, what became of them."""

import re
from collections.abc import Iterable

from acc_ace.core.gates.commands import AnswerQuestion, Erase, parse_command
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.rules.consent import consent_opens
from acc_ace.core.text.rules.contradiction import contradiction
from acc_ace.core.text.rules.mentions import (
    goal_in,
    is_about,
    loosening_in,
    meant,
    names_a_rule,
)
from acc_ace.ext.embedded.conflicts import asks_permission, breaks, intents
from acc_ace.ext.embedded.memory_quotes import Fact, nearest
from acc_ace.ext.embedded.prompt_context import PromptContext, RuleAnswer
from acc_ace.ext.embedded.speech_acts import orders, questions

_PARTS = re.compile(r"[,;、；]\s*")

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
"""'What can't we' asks for rules only as 'do', 'touch' or 'change': "restore" asks for more."""

_ASKS_GOAL = re.compile(
    r"\b(?:goal|objective|trying to (?:do|achieve)|purpose)\b|目標|目的|ゴール", re.IGNORECASE
)


def answer_command(context: PromptContext) -> RuleAnswer | None:
    """After a command about rules, list the rules now in force."""
    command = parse_command(context.text)
    if command is None:
        return None
    if isinstance(command, Erase):
        return RuleAnswer((context.say("ok"),), "the user had something deleted")
    if isinstance(command, AnswerQuestion) and not context.warnings:
        return RuleAnswer((context.say("ok"),), "the user answered a question about rules")
    return RuleAnswer(rule_lines(context), "listed the constraints after a command about them")


def refuse(context: PromptContext) -> RuleAnswer | None:
    """Refuse a request that would break a constraint, and say how the user can release it."""
    state, ruled = context.state, [pin.quote for pin in _pins_of_turn(context)]
    # What changes a rule as such needs the user's consent; doing what it forbids is refused.
    changes = [q.text for q in loosening_in(context.text) if names_a_rule(q.text)]
    for request in intents(context.text):
        if request in changes or any(quote in one_line(request) for quote in ruled):
            continue
        rule = next((pin for pin in state.pins if breaks(request, pin.text)), None)
        if rule is None:
            continue
        lessons = [Fact(b.content, b.id) for b in context.bullets if b.harmful <= b.helpful]
        used = nearest(f"{request} constraint 制約", lessons, limit=2)
        return RuleAnswer(
            (
                context.say("refused", rule=rule.text, id=rule.id),
                context.say("how_to_release", id=rule.id),
            ),
            f"the request conflicts with {rule.id}",
            tuple(fact.source for fact in used),
        )
    return None


def confirm_rules(context: PromptContext) -> RuleAnswer | None:
    """Acknowledge rules and goals in x_t; code appends to the answer what became of them."""
    goal, lines = context.state.ccs.goal_orientation, []
    if _asks_to_end(context):
        lines = [context.say("by_consent")]
    elif _pins_of_turn(context):
        lines = [context.say("ok")]
    span = goal_in(context.text)
    if span is not None and span.text in goal:
        lines.append(context.say("goal", goal=goal))
    if not lines or questions(context.text):
        return None
    return RuleAnswer(tuple(lines), "the user spoke of a rule or the goal")


def describe_rules(context: PromptContext) -> RuleAnswer | None:
    """Answer questions about the rules or the goal."""
    text = " ".join((*questions(context.text), *orders(context.text)))
    if _ASKS_RULES.search(text) and not asks_permission(text):
        return RuleAnswer(rule_lines(context), "listed the constraints")
    if _ASKS_GOAL.search(text):
        goal = context.state.ccs.goal_orientation
        line = context.say("goal", goal=goal) if goal else context.say("no_goal")
        return RuleAnswer((line,), "quoted the goal")
    return None


def rule_lines(context: PromptContext) -> tuple[str, ...]:
    """The constraints in force, each with its id."""
    pins = context.state.pins
    lines = (f"- {pin.text} [{pin.id}]" for pin in pins)
    return (context.say("rules" if pins else "no_rules"), *lines)


def in_force(context: PromptContext, quotes: Iterable[str], answer: str) -> list[str]:
    """Lines for the rules that quoted words speak of or go against, if the answer lacks them."""
    words = list(quotes)
    return [
        context.say("in_force", rule=pin.text, id=pin.id)
        for pin in context.state.pins
        if pin.text not in answer and any(_conflicts(text, pin) for text in words)
    ]


def _conflicts(text: str, pin: ConstraintPin) -> bool:
    if contradiction(text, [pin]) or (names_a_rule(text) and is_about(text, pin)):
        return True
    # In "When the queue is full, restart db-01" the order is the second part.
    wanted = (item for part in (text, *_PARTS.split(text)) for item in intents(part))
    return any(breaks(item, pin.text) for item in wanted)


def _pins_of_turn(context: PromptContext) -> list[ConstraintPin]:
    """Constraints that x_t states, for the first time or again."""
    line = one_line(context.text)
    return [pin for pin in context.state.pins if pin.text in line]


def _asks_to_end(context: PromptContext) -> bool:
    """Whether x_t seems to permit, lift or change something, which needs the user's consent."""
    text, pins = context.text, context.state.pins
    changes = [q for q in loosening_in(text) if not any(pin.text in q.text for pin in pins)]
    # A consent whose rule is gone from the state has done what it asked for.
    is_done = consent_opens(text) and names_a_rule(text) and meant(text, pins) is None
    return bool(pins) and bool(changes) and not is_done
