"""Answers about the state: its rules, its goal, the whole situation."""

import re

from acc_ace.gates.rule_hints import tells_of_no_release
from acc_ace.rules_model.conflicts import asks_permission, find_conflict, intents
from acc_ace.rules_model.entities import find_entities
from acc_ace.rules_model.extractive_qa import facts_held, lessons_for, quoted_lines, told_relation
from acc_ace.rules_model.gist import pick, referred_option, without_list
from acc_ace.rules_model.phrases import cited, say
from acc_ace.rules_model.prompt_context import Said, Situation
from acc_ace.rules_model.relations import find_claim
from acc_ace.rules_model.roles.compressor import amended_in, released_in
from acc_ace.rules_model.speech_acts import orders, questions
from acc_ace.rules_model.text_match import Fact, actions_in, best_facts
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.text.normalize import normalise, one_line
from acc_ace.text.rules import release_cues
from acc_ace.text.rules.goal_detection import detect_goal
from acc_ace.text.rules.rule_changes import unmatched_release
from acc_ace.text.rules.rule_detection import detect_rules
from acc_ace.text.sentences import split_sentences

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


def refuse(situation: Situation) -> Said | None:
    """Say no to what would break a constraint, and how the user can lift it."""
    ruled = [pin.quote for pin in _pins_of_turn(situation)]
    # "Change the limit to …" is done by the state itself once it stands there.
    wanted = [
        item
        for item in intents(without_list(situation.text))
        if not any(quote in one_line(item) for quote in ruled)
    ]
    number = referred_option(situation.text)
    chosen = pick(situation.options, number) if number is not None else None
    for request in (*wanted, *([chosen] if chosen else [])):
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
        lead = situation.chosen_line(number, chosen) if request == chosen else ""
        used = lessons_for(situation, f"{request} constraint 制約")
        return Said(
            (lead, line, how),
            f"the request conflicts with {cite or 'a constraint'}",
            tuple(fact.cite for fact in used),
        )
    return None


def confirm_rules(situation: Situation) -> Said | None:
    """Answer for rules and goals that x_t set or released, as the state now has them."""
    language, state = situation.language, situation.state
    lines = []
    amended = amended_in(state.ccs.episodic_trace)
    for pin in _pins_of_turn(situation):
        name = "amended" if amended and _amends(pin.quote) else "new_rule"
        cite = cited(state.constraint_id(pin.text))
        lines.append(situation.tell_rule(name, rule=pin.text, cite=cite))
    if not lines:
        lines = _release_lines(situation)
    span = detect_goal(situation.text)
    if span is not None and span.text in state.ccs.goal_orientation:
        lines.append(say("new_goal", language, goal=state.ccs.goal_orientation))
    if not lines or questions(situation.text):
        return None
    return Said(tuple(lines), "the user set or released a rule or the goal")


def _pins_of_turn(situation: Situation) -> list[ConstraintPin]:
    """Constraints that x_t set or amended, by its words and by the turn of their pins."""
    spoken = detect_rules(situation.text)
    fresh = {rule.text for rule in spoken} | {rule.sentence for rule in spoken}
    said = one_line(situation.text)
    return [
        pin
        for pin in situation.state.pins
        if pin.origin_turn == situation.state.turn
        and (pin.text in fresh or pin.quote in fresh or pin.quote in said)
    ]


def _amends(quote: str) -> bool:
    return release_cues.amends(normalise(quote))


def _release_lines(situation: Situation) -> list[str]:
    """What to say of the rules that x_t released, or meant to release; empty for none."""
    if not situation.state.pinned:
        return _unpinned_release_lines(situation)
    released = [say("released", situation.language), *rule_lines(situation)]
    if released_in(situation.state.ccs.episodic_trace):
        return released
    if any(tells_of_no_release(warning) for warning in situation.warnings):
        return rule_lines(situation)  # The warning, which is passed on, says the rest.
    # Another Compressor may have written the state; then the words of x_t must do.
    return released if unmatched_release(situation.text, ()) is not None else []


def _unpinned_release_lines(situation: Situation) -> list[str]:
    if situation.state.ended:
        return [situation.tell_rule("released"), *rule_lines(situation)]
    if unmatched_release(situation.text, situation.state.pins) is None:
        return []
    return [say("unpinned_not_released", situation.language), *rule_lines(situation)]


def permit(situation: Situation) -> Said | None:
    """Answer 'may we?' where nothing forbids it."""
    asked = [item for item in split_sentences(situation.text) if asks_permission(item)]
    if not asked:
        return None
    rules = [
        Fact(text, situation.state.constraint_id(text)) for text in situation.state.ccs.constraints
    ]
    near = best_facts(rules, asked[0], limit=2)
    lines = [situation.tell_rule("allowed"), *quoted_lines(near)]
    return Said(tuple(lines), "checked the request against the constraints")


def take_claim(situation: Situation) -> Said | None:
    """Words of somebody else are kept as a claim; a rule they speak against stands."""
    for sentence in split_sentences(situation.text):
        claim = find_claim(sentence)
        if claim is None:
            continue
        who, _, what = claim.removeprefix("claim: ").partition(" -> ")
        lines = [say("claim", situation.language, who=who)]
        conflict = find_conflict(what, situation.state.ccs.constraints)
        if conflict is not None:
            cite = cited(situation.state.constraint_id(conflict.constraint))
            lines.append(situation.tell_rule("claim_conflict", rule=conflict.constraint, cite=cite))
        return Said(tuple(lines), "reported speech sets and lifts nothing")
    return None


def rule_lines(situation: Situation, *, about: str = "") -> list[str]:
    """The constraints that a question is about, or all when it singles none out."""
    constraints = situation.state.ccs.constraints
    if not constraints:
        return [situation.tell_rule("no_rules")]
    topics = actions_in(about) - {"name"}
    near = [text for text in constraints if topics & actions_in(text)]
    if topics and not near:
        return [situation.tell_rule("no_such_rule"), *rule_lines(situation)]
    constraints = near or constraints
    return [
        situation.tell_rule("rules"),
        *(f"- {text}{cited(situation.state.constraint_id(text))}" for text in constraints),
    ]


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
