"""Play the Generator: answer by quoting state, playbook, tools and evidence, with citations.

Parts are asked in order, the first that has something to say answers: a constraint in the way
comes before everything that x_t asks for.
"""

import re
from collections.abc import Callable, Iterable

from core.domain.language.goal_detection import detect_goal
from core.domain.language.injection import instruction_like
from core.domain.language.rule_changes import unmatched_release
from core.domain.language.rule_detection import detect_rules
from core.domain.language.sentences import split_sentences
from core.domain.tokens import clip_tokens
from core.models.embedded.actions import actions_in
from core.models.embedded.answering import answer_question, is_sure
from core.models.embedded.conflicts import find_conflict
from core.models.embedded.entities import find_entities
from core.models.embedded.gist import facts_of, without_list
from core.models.embedded.intents import asks_permission, intents
from core.models.embedded.matching import Fact, once, rank, terms_of
from core.models.embedded.options import listed_options, pick, referred_option
from core.models.embedded.prompt_reading import Prompt
from core.models.embedded.relations import find_claim
from core.models.embedded.situation import Call, Said, Situation, facts_held, situation_of
from core.models.embedded.speech import (
    is_correction,
    is_greeting,
    is_praise,
    is_question,
    orders,
    questions,
)
from core.models.embedded.tool_use import SEARCH, answer_from, asked_call, search_call
from core.models.embedded.wording import NOTE, cited, say
from schemas.generation import GeneratorOutput

_ASKS_OPTIONS = re.compile(
    r"\b(?:options|alternatives|choices|ways forward)\b|選択肢|候補|どんな案|どのような案|案を",
    re.IGNORECASE,
)
_ASKS_RULES = re.compile(
    r"\b(?:constraints?|rules?|bans?|polic(?:y|ies)|restrictions?|not allowed|forbidden|prohibited"
    r"|allowed to)\b|制約|ルール|決まり|規則|禁止|してはいけ",
    re.IGNORECASE,
)
_ASKS_GOAL = re.compile(
    r"\b(?:goal|objective|trying to (?:do|achieve)|purpose)\b|目標|目的|ゴール", re.IGNORECASE
)
_ASKS_STATUS = re.compile(
    r"\b(?:where (?:are|do) we|status|situation|summar\w+|recap|so far|what do you know"
    r"|what's going on|catch me up)\b|状況|まとめ|現状|要約|把握している",
    re.IGNORECASE,
)
_THANKS = re.compile(r"thank|thx|cheers|ありがと|助かり", re.IGNORECASE)
_HELLO = re.compile(
    r"\b(?:hi|hello|hey|good (?:morning|afternoon|evening))\b|おはよう|こんにちは"
    r"|こんばんは|お疲れ",
    re.I,
)
_LABEL_TURNS = 1
"""Turns at the start of a session whose answers carry the label."""


def generate(prompt: Prompt) -> GeneratorOutput | Call:
    """The answer to x_t, or the tool call that it needs first."""
    situation = situation_of(prompt)
    said = _say(situation)
    return said if isinstance(said, Call) else _output(situation, said)


def _say(situation: Situation) -> Said | Call:
    if situation.replies:
        return answer_from(situation)
    if not situation.authority.may_rule:
        return _take_in(situation)
    for part in _PARTS:
        if (said := part(situation)) is not None:
            return said
    return _acknowledge(situation)


def _output(situation: Situation, said: Said) -> GeneratorOutput:
    lines = [*said.lines, *_notes(situation)]
    if situation.state.turn <= _LABEL_TURNS:
        lines.append(NOTE[situation.language])
    return GeneratorOutput(
        reasoning=[said.why],
        bullet_ids=list(said.bullet_ids),
        final_answer="\n".join(line for line in lines if line),
    )


def _notes(situation: Situation) -> Iterable[str]:
    for warning in situation.warnings[:2]:
        yield say("warning", situation.language, what=clip_tokens(warning, 60))


def _greet(situation: Situation) -> Said | None:
    if not is_greeting(situation.text):
        return None
    name = "ok"
    if _THANKS.search(situation.text):
        name = "welcome"
    elif _HELLO.search(situation.text):
        name = "hello"
    return Said((say(name, situation.language),), "small talk")


def _refuse(situation: Situation) -> Said | None:
    """Say no to what would break a constraint, and how the user can lift it."""
    wanted = intents(without_list(situation.text))
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
        lead = _chosen_line(situation, number, chosen) if request == chosen else ""
        used = _bullets_for(situation, f"{request} constraint 制約")
        return Said(
            (lead, line, how),
            f"the request conflicts with {cite or 'a constraint'}",
            tuple(fact.cite for fact in used),
        )
    return None


def _rule_change(situation: Situation) -> Said | None:
    """Answer for rules and goals that x_t set or released, as the state now has them."""
    language, state = situation.language, situation.state
    lines = []
    fresh = {rule.text for rule in detect_rules(situation.text)}
    fresh |= {rule.sentence for rule in detect_rules(situation.text)}
    for pin in state.pins:
        if pin.origin_turn == state.turn and (pin.text in fresh or pin.quote in fresh):
            lines.append(say("new_rule", language, rule=pin.text, cite=cited(pin.id)))
    if not lines and not situation.warnings and _released(situation):
        lines = [say("released", language), *_rule_lines(situation)]
    span = detect_goal(situation.text)
    if span is not None and span.text in state.ccs.goal_orientation:
        lines.append(say("new_goal", language, goal=state.ccs.goal_orientation))
    if not lines or questions(situation.text):
        return None
    return Said(tuple(lines), "the user set or released a rule or the goal")


def _released(situation: Situation) -> bool:
    """Whether x_t has a release that fits no pin any more: the gate has taken it out."""
    return unmatched_release(situation.text, situation.state.pins) is not None


def _tool(situation: Situation) -> Said | Call | None:
    call = asked_call(situation)
    if call is None:
        return None
    if call.name in situation.tools:
        return call
    if call.name == SEARCH:
        return None
    line = say("no_tool", situation.language, tool=call.name)
    return Said((line,), f"{call.name} is not declared")


def _option(situation: Situation) -> Said | None:
    """Resolve 'the second option' against the list on offer."""
    number = referred_option(situation.text)
    if number is None:
        return None
    option = pick(situation.options, number)
    if option is None:
        return Said((say("no_option", situation.language),), "no such option on offer")
    lines = [_chosen_line(situation, number, option), say("allowed", situation.language)]
    lines += _lines(_about(situation, option, limit=1))
    if any(not is_question(item) for item in orders(situation.text)):
        lines.append(say("cannot_act", situation.language))
    return Said(tuple(lines), "resolved the option from the state")


def _chosen_line(situation: Situation, number: int | None, option: str | None) -> str:
    place = len(situation.options) if number == -1 else number
    return say("chosen", situation.language, number=place, option=option)


def _list_options(situation: Situation) -> Said | None:
    options = situation.options
    asked = (*questions(situation.text), *orders(situation.text))
    if not options or not any(_ASKS_OPTIONS.search(item) for item in asked):
        return None
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    return Said((say("options", situation.language), *numbered), "listed the options on offer")


def _about_state(situation: Situation) -> Said | None:
    """Questions about the rules, the goal or the whole situation."""
    asked = " ".join((*questions(situation.text), *orders(situation.text)))
    if not asked:
        return None
    if _ASKS_RULES.search(asked) and not asks_permission(asked):
        return Said(tuple(_rule_lines(situation, about=asked)), "listed the constraints")
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
    lines += _lines(facts[:5])
    lines += [
        f"- {text}{cited(situation.state.constraint_id(text))}" for text in ccs.constraints[:6]
    ]
    open_items = [
        item for item in split_sentences(ccs.uncertainty_signal) if item not in situation.text
    ]
    if open_items:
        lines.append("- " + say("open", language, what=open_items[0]))
    return Said(tuple(lines), "summed up the state")


def _rule_lines(situation: Situation, *, about: str = "") -> list[str]:
    """The constraints that a question is about, or all when it singles none out."""
    constraints = situation.state.ccs.constraints
    if not constraints:
        return [say("no_rules", situation.language)]
    topics = actions_in(about) - {"name"}
    near = [text for text in constraints if topics & actions_in(text)]
    if topics and not near:
        return [say("no_such_rule", situation.language), *_rule_lines(situation)]
    constraints = near or constraints
    return [
        say("rules", situation.language),
        *(f"- {text}{cited(situation.state.constraint_id(text))}" for text in constraints),
    ]


def _permission(situation: Situation) -> Said | None:
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
    lines = [say("allowed", situation.language), *_lines(near[:2])]
    return Said(tuple(lines), "checked the request against the constraints")


def _question(situation: Situation) -> Said | Call | None:
    asked = questions(situation.text)
    if not asked:
        return None
    answer = answer_question(situation, asked[-1])
    if SEARCH in situation.tools and not is_sure(situation, asked[-1]):
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


def _correct(situation: Situation) -> Said | None:
    if not is_correction(situation.text):
        return None
    facts = facts_of(situation.text) or [situation.text.strip()]
    line = say("corrected", situation.language, what=clip_tokens(" ".join(facts[:2]), 80))
    return Said((line,), "the user corrected the previous answer")


def _take_options(situation: Situation) -> Said | None:
    """Confirm a list of options that x_t itself brings."""
    options = listed_options(situation.text)
    if not options or questions(without_list(situation.text)):
        return None
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    return Said((say("options_noted", situation.language), *numbered), "took in the options")


def _order(situation: Situation) -> Said | None:
    wanted = orders(situation.text)
    if not wanted:
        return None
    known = _about(situation, wanted[0], limit=3)
    lines = [say("cannot_act", situation.language), say("allowed", situation.language)]
    if known:
        lines += [say("known", situation.language), *_lines(known)]
    used = tuple(fact.cite for fact in known if fact.cite.startswith("b-"))
    return Said(tuple(lines), "no tool does this; quoted what bears on it", used)


def _claim(situation: Situation) -> Said | None:
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
            lines.append(
                say("claim_conflict", situation.language, rule=conflict.constraint, cite=cite)
            )
        return Said(tuple(lines), "reported speech sets and lifts nothing")
    return None


def _praise(situation: Situation) -> Said | None:
    if not is_praise(situation.text) or questions(situation.text):
        return None
    return Said((say("glad", situation.language),), "the user reported a success")


def _take_in(situation: Situation) -> Said:
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


def _acknowledge(situation: Situation) -> Said:
    facts = facts_of(situation.text)
    if not facts:
        return Said((say("noted_short", situation.language),), "nothing to answer")
    lines = [say("noted", situation.language, what=clip_tokens(facts[0], 60))]
    lessons = _bullets_for(situation, situation.text)
    lines += [
        say("lesson", situation.language, what=f"{fact.text}{cited(fact.cite)}")
        for fact in lessons[:1]
    ]
    return Said(tuple(lines), "took in a fact", tuple(fact.cite for fact in lessons[:1]))


def _about(situation: Situation, text: str, *, limit: int) -> list[Fact]:
    """Facts that bear on a text, best first."""
    words = terms_of(text)
    matches = rank(text, facts_held(situation))
    near = [match.fact for match in matches if match.score >= 0.25 and match.shared >= 2]
    # A fact with no word beyond the text's own tells nothing about it.
    return once(fact for fact in near if terms_of(fact.text) - words)[:limit]


def _bullets_for(situation: Situation, text: str) -> list[Fact]:
    """Bullets that apply to a text; those that did more harm than good are left alone."""
    facts = [
        Fact(bullet.content, bullet.id)
        for bullet in situation.bullets
        if bullet.harmful <= bullet.helpful
    ]
    matches = rank(text, facts)
    return [match.fact for match in matches if match.shared >= 2 or match.score >= 0.3][:2]


def _lines(facts: Iterable[Fact]) -> list[str]:
    return [f"- {fact.text}{cited(fact.cite)}" for fact in facts]


_PARTS: tuple[Callable[[Situation], Said | Call | None], ...] = (
    _greet,
    _rule_change,
    _refuse,
    _take_options,
    _tool,
    _list_options,
    _option,
    _about_state,
    _permission,
    _correct,
    _question,
    _claim,
    _order,
    _praise,
)
