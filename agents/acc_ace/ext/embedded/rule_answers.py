"""Answers about the state: its rules, its goal, the whole situation."""

import re
from collections.abc import Sequence

from acc_ace.core.gates.commands import AnswerQuestion, parse_command
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.rules.consent import consent_opens
from acc_ace.core.text.rules.contradiction import contradiction
from acc_ace.core.text.rules.mentions import goal_in, loosening_in, meant, names_a_rule
from acc_ace.core.text.sentences import split_sentences
from acc_ace.ext.embedded.conflicts import asks_permission, find_conflict, intents
from acc_ace.ext.embedded.entities import find_entities
from acc_ace.ext.embedded.extractive_qa import facts_in, lessons_for, quoted_lines, stated_relation
from acc_ace.ext.embedded.gist import pick, referred_option, without_list
from acc_ace.ext.embedded.phrases import cited, say
from acc_ace.ext.embedded.prompt_context import PromptContext, RuleAnswer
from acc_ace.ext.embedded.relations import find_claim
from acc_ace.ext.embedded.speech_acts import orders, questions
from acc_ace.ext.embedded.text_match import Fact, actions_in, best_facts

_PARTS = re.compile(r"[,;、；]\s*")
_LIST_MARK = re.compile(r"^(?:[-*•]|\d{1,2}\.) ")

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
_ASKS_STATUS = re.compile(
    r"\b(?:where (?:are|do) we|status|situation|summar\w+|recap|so far|what do you know"
    r"|what's going on|catch me up)\b|状況|まとめ|現状|要約|把握している",
    re.IGNORECASE,
)


def answer_command(situation: PromptContext) -> RuleAnswer | None:
    """After a command about rules, list the rules now in force."""
    command = parse_command(situation.text)
    if command is None:
        return None
    if isinstance(command, AnswerQuestion) and not situation.warnings:
        return RuleAnswer(
            (say("ok", situation.language),), "the user answered a question about rules"
        )
    lines = rule_lines(situation)
    return RuleAnswer(tuple(lines), "listed the constraints after a command about them")


def refuse(situation: PromptContext) -> RuleAnswer | None:
    """Refuse a request that would break a constraint, and say how the user can release it."""
    ruled = [pin.quote for pin in _pins_of_turn(situation)]
    # What changes a rule as such needs the user's consent; doing what it forbids is refused.
    changes = [q.text for q in loosening_in(situation.text) if names_a_rule(q.text)]
    wanted = [
        item
        for item in intents(without_list(situation.text))
        if item not in changes and not any(quote in one_line(item) for quote in ruled)
    ]
    number = referred_option(situation.text)
    option = pick(situation.options, number) if number is not None else None
    for request in (*wanted, *([option] if option else [])):
        conflict = find_conflict(request, situation.state.ccs.constraints)
        if conflict is None:
            continue
        cite = situation.state.constraint_id(conflict.constraint)
        how = (
            say("how_to_release", situation.language, id=cite)
            if cite
            else say("how_to_release_text", situation.language)
        )
        line = say("refused", situation.language, rule=conflict.constraint, cite=cited(cite))
        lead = situation.chosen_line(number, option) if request == option else ""
        used = lessons_for(situation, f"{request} constraint 制約")
        return RuleAnswer(
            (lead, line, how),
            f"the request conflicts with {cite or 'a constraint'}",
            tuple(fact.cite for fact in used),
        )
    return None


def confirm_rules(situation: PromptContext) -> RuleAnswer | None:
    """Acknowledge rules and goals in x_t; code appends to the answer what became of them."""
    language, state = situation.language, situation.state
    lines = []
    if _asks_to_end(situation):
        lines = [say("by_consent", language)]
    elif _pins_of_turn(situation):
        lines = [say("ok", language)]
    span = goal_in(situation.text)
    if span is not None and span.text in state.ccs.goal_orientation:
        lines.append(say("new_goal", language, goal=state.ccs.goal_orientation))
    if not lines or questions(situation.text):
        return None
    return RuleAnswer(tuple(lines), "the user spoke of a rule or the goal")


def in_force(situation: PromptContext, lines: Sequence[str]) -> list[str]:
    """Lines for the rules that an answer contradicts without quoting them."""
    text = "\n".join(lines)
    stated = [_LIST_MARK.sub("", line) for line in lines]
    return [
        situation.rule_line("in_force", rule=pin.text, cite=cited(_id_of(situation, pin)))
        for pin in situation.state.pins
        if pin.text not in text and any(_conflicts(line, pin) for line in stated)
    ]


def _conflicts(line: str, pin: ConstraintPin) -> bool:
    if contradiction(line, [pin]):
        return True
    # In "When the queue is full, restart db-01" the order is the second part.
    wanted = (item for part in (line, *_PARTS.split(line)) for item in intents(part))
    return any(find_conflict(item, [pin.text]) is not None for item in wanted)


def _id_of(situation: PromptContext, pin: ConstraintPin) -> str:
    return situation.state.constraint_id(pin.text)


def _pins_of_turn(situation: PromptContext) -> list[ConstraintPin]:
    """Constraints that x_t states, for the first time or again."""
    line = one_line(situation.text)
    return [pin for pin in situation.state.pins if pin.text in line]


def _asks_to_end(situation: PromptContext) -> bool:
    """Whether x_t seems to permit, lift or change something, which needs the user's consent."""
    text, pins = situation.text, situation.state.pins
    # A consent whose rule is gone from the state has done what it asked for.
    is_done = consent_opens(text) and names_a_rule(text) and meant(text, pins) is None
    return bool(pins) and bool(loosening_in(text)) and not is_done


def permit(situation: PromptContext) -> RuleAnswer | None:
    """Answer a request for permission that no constraint forbids."""
    sentences = [item for item in split_sentences(situation.text) if asks_permission(item)]
    if not sentences:
        return None
    rules = [
        Fact(text, situation.state.constraint_id(text)) for text in situation.state.ccs.constraints
    ]
    near = best_facts(rules, sentences[0], limit=2)
    lines = [situation.rule_line("allowed"), *quoted_lines(near)]
    return RuleAnswer(tuple(lines), "checked the request against the constraints")


def take_claim(situation: PromptContext) -> RuleAnswer | None:
    """Note reported speech as a claim, and quote a rule that it conflicts with."""
    for sentence in split_sentences(situation.text):
        claim = find_claim(sentence)
        if claim is None:
            continue
        who, _, what = claim.removeprefix("claim: ").partition(" -> ")
        lines = [say("claim", situation.language, who=who)]
        conflict = find_conflict(what, situation.state.ccs.constraints)
        if conflict is not None:
            cite = cited(situation.state.constraint_id(conflict.constraint))
            lines.append(situation.rule_line("in_force", rule=conflict.constraint, cite=cite))
        return RuleAnswer(tuple(lines), "reported speech sets and releases nothing")
    return None


def rule_lines(situation: PromptContext, *, about: str = "") -> list[str]:
    """The constraints that a question is about, or all if it names none."""
    constraints = situation.state.ccs.constraints
    if not constraints:
        return [situation.rule_line("no_rules")]
    topics = actions_in(about) - {"name"}
    near = [text for text in constraints if topics & actions_in(text)]
    if topics and not near:
        return [situation.rule_line("no_such_rule"), *rule_lines(situation)]
    constraints = near or constraints
    return [
        situation.rule_line("rules"),
        *(f"- {text}{cited(situation.state.constraint_id(text))}" for text in constraints),
    ]


def describe_state(situation: PromptContext) -> RuleAnswer | None:
    """Answer questions about the rules, the goal or the whole situation."""
    text = " ".join((*questions(situation.text), *orders(situation.text)))
    if not text:
        return None
    if _ASKS_RULES.search(text) and not asks_permission(text):
        return RuleAnswer(tuple(rule_lines(situation, about=text)), "listed the constraints")
    if _ASKS_GOAL.search(text):
        goal = situation.state.ccs.goal_orientation
        line = (
            say("goal", situation.language, goal=goal)
            if goal
            else say("no_goal", situation.language)
        )
        return RuleAnswer((line,), "quoted the goal")
    if _ASKS_STATUS.search(text) and not find_entities(text):
        return _status(situation)
    return None


def _status(situation: PromptContext) -> RuleAnswer:
    ccs, language = situation.state.ccs, situation.language
    lines = [say("situation", language)]
    if ccs.goal_orientation:
        lines.append("- " + say("goal", language, goal=ccs.goal_orientation))
    facts = [fact for fact in facts_in(situation) if not fact.cite.startswith(("b-", "c-"))]
    lines += quoted_lines(facts[:5])
    lines += [
        f"- {text}{cited(situation.state.constraint_id(text))}" for text in ccs.constraints[:6]
    ]
    open_items = [
        item for item in split_sentences(ccs.uncertainty_signal) if item not in situation.text
    ]
    if open_items:
        what = stated_relation(open_items[0].rstrip(".。"), language)
        lines.append("- " + say("open", language, what=what))
    return RuleAnswer(tuple(lines), "summed up the state")
