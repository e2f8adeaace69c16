"""Answers about rules: refuse what one forbids, confirm changes, permit, note claims."""

from core.domain.gate.release_help import tells_of_no_release
from core.domain.language import release_cues
from core.domain.language.goal_detection import detect_goal
from core.domain.language.normal import normalise
from core.domain.language.rule_changes import unmatched_release
from core.domain.language.rule_detection import detect_rules
from core.domain.language.sentences import split_sentences
from core.domain.plain_text import one_line
from core.models.embedded.actions import actions_in
from core.models.embedded.compressor import amended_in, released_in
from core.models.embedded.conflicts import find_conflict
from core.models.embedded.gist import without_list
from core.models.embedded.intents import asks_permission, intents
from core.models.embedded.matching import Fact, rank
from core.models.embedded.option_answers import chosen_line
from core.models.embedded.options import pick, referred_option
from core.models.embedded.quoting import lessons_for, quoted_lines
from core.models.embedded.relations import find_claim
from core.models.embedded.situation import Said, Situation
from core.models.embedded.speech import questions
from core.models.embedded.wording import cited, say
from schemas.commit import ConstraintPin


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
        lead = chosen_line(situation, number, chosen) if request == chosen else ""
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
        rules = " / ".join(situation.state.ended)
        return [situation.tell_rule("released", rule=rules), *rule_lines(situation)]
    if unmatched_release(situation.text, situation.state.pins) is None:
        return []
    return [say("unpinned_not_released", situation.language), *rule_lines(situation)]


def permit(situation: Situation) -> Said | None:
    """Answer 'may we?' where nothing forbids it."""
    asked = [item for item in split_sentences(situation.text) if asks_permission(item)]
    if not asked:
        return None
    near = [
        match.fact
        for match in rank(
            asked[0],
            [
                Fact(text, situation.state.constraint_id(text))
                for text in situation.state.ccs.constraints
            ],
        )
        if match.score >= 0.3
    ]
    lines = [situation.tell_rule("allowed"), *quoted_lines(near[:2])]
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
