"""The Generator role: answer by quoting state, playbook, tools and evidence, with citations.

A chain of responsibility: the first part with an answer wins; a conflict with a constraint comes
before all requests of x_t.
"""

import re
from collections.abc import Callable, Iterable

from acc_ace.core.gates.commands import parse_command
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import content_words
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.embedded.extractive_qa import (
    answer_by_goal,
    answer_question,
    bullets_in,
    is_sure,
    lessons_for,
    quoted_lines,
    related_facts,
)
from acc_ace.ext.embedded.gist import facts_of, listed_options, pick, referred_option, without_list
from acc_ace.ext.embedded.phrases import NOTE, cited, say
from acc_ace.ext.embedded.prompt_context import Call, PromptContext, RuleAnswer, prompt_context
from acc_ace.ext.embedded.prompt_parts import PromptParts
from acc_ace.ext.embedded.rule_answers import (
    answer_command,
    confirm_rules,
    describe_state,
    in_force,
    permit,
    refuse,
    take_claim,
)
from acc_ace.ext.embedded.speech_acts import (
    is_greeting,
    is_praise,
    is_question,
    orders,
    questions,
)
from acc_ace.ext.embedded.tool_use import SEARCH, answer_from, asked_call, lookup_call

_LABEL_TURNS = 1
"""Turns at the start of a session whose answers have the label."""

_WORDS_OF_A_CHOICE = 3
_NOTE_TOKENS = 120
"""Maximum tokens of a warning in an answer."""

_THANKS = re.compile(r"thank|thx|cheers|ありがと|助かり", re.IGNORECASE)
_HELLO = re.compile(
    r"\b(?:hi|hello|hey|good (?:morning|afternoon|evening))\b|おはよう|こんにちは"
    r"|こんばんは|お疲れ",
    re.I,
)
_ASKS_OPTIONS = re.compile(
    r"\b(?:options|alternatives|choices|ways forward)\b|選択肢|候補|どんな案|どのような案|案を",
    re.IGNORECASE,
)


def generate(prompt: PromptParts) -> GeneratorOutput | Call:
    """The answer to x_t, or the tool call that it needs first."""
    situation = prompt_context(prompt)
    reply = _say(situation)
    return reply if isinstance(reply, Call) else _output(situation, reply)


def _say(situation: PromptContext) -> RuleAnswer | Call:
    if situation.replies:
        return answer_from(situation)
    if not situation.authority.may_rule:
        return acknowledge_foreign(situation)
    for part in _PARTS:
        if (reply := part(situation)) is not None:
            return reply
    return acknowledge(situation)


def _output(situation: PromptContext, reply: RuleAnswer) -> GeneratorOutput:
    lines = [*reply.lines, *in_force(situation, reply.lines), *_notes(situation)]
    if situation.state.turn <= _LABEL_TURNS:
        lines.append(NOTE[situation.language])
    return GeneratorOutput(
        reasoning=[reply.why],
        bullet_ids=list(reply.bullet_ids),
        final_answer="\n".join(line for line in lines if line),
    )


def _notes(situation: PromptContext) -> Iterable[str]:
    # What a command did not change is said below the answer.
    if situation.warnings and parse_command(situation.text) is None:
        for warning in situation.warnings[:2]:
            yield say("warning", situation.language, what=clip_tokens(warning, _NOTE_TOKENS))


def _tool(situation: PromptContext) -> RuleAnswer | Call | None:
    call = asked_call(situation)
    if call is None:
        return None
    if call.name in situation.tools:
        return call
    if call.name == SEARCH:
        return None
    line = say("no_tool", situation.language, tool=call.name)
    return RuleAnswer((line,), f"{call.name} is not declared")


def greet(situation: PromptContext) -> RuleAnswer | None:
    """Answer small talk."""
    if not is_greeting(situation.text):
        return None
    name = "ok"
    if _THANKS.search(situation.text):
        name = "welcome"
    elif _HELLO.search(situation.text):
        name = "hello"
    return RuleAnswer((say(name, situation.language),), "small talk")


def answer(situation: PromptContext) -> RuleAnswer | Call | None:
    """Answer a question from the state or by looking it up, or say that it is unknown."""
    questions_here = questions(situation.text)
    if not questions_here:
        return None
    sure = is_sure(situation, questions_here[-1])
    if not sure and (by_goal := answer_by_goal(situation, questions_here[-1])) is not None:
        return by_goal
    answer = answer_question(situation, questions_here[-1])
    if not sure and (call := lookup_call(situation)) is not None:
        return call
    if answer is not None:
        return answer
    open_items = [
        item
        for item in split_sentences(situation.state.ccs.uncertainty_signal)
        if item not in questions_here
    ]
    lines = [say("unknown", situation.language)]
    if open_items:
        lines.append(say("open", situation.language, what=open_items[0]))
    return RuleAnswer(tuple(lines), "no known fact answers the question")


def take_correction(situation: PromptContext) -> RuleAnswer | None:
    """Acknowledge a correction with the facts noted; ask for details if it names none."""
    if not is_correction(situation.text):
        return None
    facts = facts_of(situation.text)
    if not facts:
        line = say("corrected_what", situation.language)
        return RuleAnswer((line,), "the correction names no subject")
    line = say("corrected", situation.language, what=clip_tokens(" ".join(facts[:2]), 80))
    return RuleAnswer((line,), "the user corrected the previous answer")


def answer_order(situation: PromptContext) -> RuleAnswer | None:
    """Say that no tool does this, and quote relevant facts."""
    wanted = orders(situation.text)
    if not wanted:
        return None
    known = related_facts(situation, wanted[0], limit=3)
    lines = [say("cannot_act", situation.language), situation.rule_line("allowed")]
    if known:
        lines += [say("known", situation.language), *quoted_lines(known)]
    return RuleAnswer(tuple(lines), "no tool does this; quoted related facts", bullets_in(known))


def take_praise(situation: PromptContext) -> RuleAnswer | None:
    """Acknowledge a reported success."""
    if not is_praise(situation.text) or questions(situation.text):
        return None
    return RuleAnswer((say("glad", situation.language),), "the user reported a success")


def acknowledge_foreign(situation: PromptContext) -> RuleAnswer:
    """Acknowledge tool or document text: facts are noted, instructions are not followed."""
    sentences = split_sentences(situation.text)
    safe = [item for item in sentences if instruction_like(item) is None]
    facts = facts_of("\n".join(safe))
    what = clip_tokens(" ".join(facts[:2]), 60)
    lines = [say("noted", situation.language, what=what)] if what else []
    if len(safe) < len(sentences):
        lines.append(say("left_out", situation.language))
    return RuleAnswer(
        tuple(lines) or (say("noted_short", situation.language),), "noted foreign text"
    )


def acknowledge(situation: PromptContext) -> RuleAnswer:
    """Confirm a noted fact, with a lesson that applies."""
    facts = facts_of(situation.text)
    if not facts:
        return RuleAnswer((say("noted_short", situation.language),), "nothing to answer")
    lines = [say("noted", situation.language, what=clip_tokens(facts[0], 60))]
    lessons = lessons_for(situation, situation.text)
    lines += [
        say("lesson", situation.language, what=f"{fact.text}{cited(fact.cite)}")
        for fact in lessons[:1]
    ]
    return RuleAnswer(tuple(lines), "noted a fact", tuple(fact.cite for fact in lessons[:1]))


def take_options(situation: PromptContext) -> RuleAnswer | None:
    """Confirm a list of options in x_t."""
    options = listed_options(situation.text)
    if not options or questions(without_list(situation.text)):
        return None
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    return RuleAnswer((say("options_noted", situation.language), *numbered), "noted the options")


def list_options(situation: PromptContext) -> RuleAnswer | None:
    """List the options on offer when x_t asks for them."""
    options = situation.options
    sentences = (*questions(situation.text), *orders(situation.text))
    if not options or not any(_ASKS_OPTIONS.search(item) for item in sentences):
        return None
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    return RuleAnswer(
        (say("options", situation.language), *numbered), "listed the options on offer"
    )


def resolve_option(situation: PromptContext) -> RuleAnswer | None:
    """Resolve 'the second option' against the list on offer."""
    number = referred_option(situation.text)
    if number is None:
        return None
    option = pick(situation.options, number)
    if option is None:
        asks = questions(situation.text) or orders(situation.text) or situation.options
        if not asks and len(content_words(situation.text)) > _WORDS_OF_A_CHOICE:
            return None  # "Room number 5 is free."
        return RuleAnswer((say("no_option", situation.language),), "no such option on offer")
    lines = [situation.chosen_line(number, option), say("allowed", situation.language)]
    lines += quoted_lines(related_facts(situation, option, limit=1))
    if any(not is_question(item) for item in orders(situation.text)):
        lines.append(say("cannot_act", situation.language))
    return RuleAnswer(tuple(lines), "resolved the option from the state")


_PARTS: tuple[Callable[[PromptContext], RuleAnswer | Call | None], ...] = (
    answer_command,
    greet,
    refuse,
    confirm_rules,
    take_options,
    _tool,
    list_options,
    resolve_option,
    describe_state,
    permit,
    take_correction,
    answer,
    take_claim,
    answer_order,
    take_praise,
)
