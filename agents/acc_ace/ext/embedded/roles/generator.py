"""The Generator role: refuse what a rule forbids, quote memory, and claim nothing beyond that.

A chain of responsibility: the first part with an answer wins; a conflict with a constraint comes
before all requests of x_t. Every line is a quotation with its source or a sentence of `phrases`.
"""

import re
from collections.abc import Callable, Sequence

from acc_ace.core.gates.commands import parse_command
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.rules.self_statements import concerns_user
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.embedded.memory_quotes import (
    PROFILE,
    Fact,
    facts_in,
    has_orders,
    nearest,
    quoted,
    rules_in_force,
    standing_in,
    unframed,
)
from acc_ace.ext.embedded.phrases import NOTE
from acc_ace.ext.embedded.prompt_context import Call, PromptContext, RuleAnswer, prompt_context
from acc_ace.ext.embedded.prompt_parts import PromptParts
from acc_ace.ext.embedded.rule_answers import (
    answer_command,
    confirm_rules,
    describe_rules,
    in_force,
    refuse,
)
from acc_ace.ext.embedded.speech_acts import is_greeting, orders, questions

_LABEL_TURNS = 1
"""Turns at the start of a session whose answers have the label."""

_QUOTED = 5
_NOTED_TOKENS = 90

_THANKS = re.compile(r"thank|thx|cheers|ありがと|助かり", re.IGNORECASE)


def generate(prompt: PromptParts) -> GeneratorOutput | Call:
    """The answer to x_t, or the search that it needs first."""
    context = prompt_context(prompt)
    reply = _reply(context)
    return reply if isinstance(reply, Call) else _output(context, reply)


def _reply(context: PromptContext) -> RuleAnswer | Call:
    if context.authority.may_rule:
        for part in _PARTS:
            if (reply := part(context)) is not None:
                return reply
    return note(context)


def _output(context: PromptContext, reply: RuleAnswer) -> GeneratorOutput:
    lines = [*reply.lines]
    # What a command did not change is said below the answer.
    if parse_command(context.text) is None:
        short = (clip_tokens(warning, _NOTED_TOKENS) for warning in context.warnings[:2])
        lines += [context.say("warning", what=warning) for warning in short]
    if context.state.turn <= _LABEL_TURNS:
        lines.append(NOTE[context.language])
    return GeneratorOutput(
        reasoning=[reply.why],
        bullet_ids=list(reply.bullet_ids),
        final_answer="\n".join(lines),
    )


def greet(context: PromptContext) -> RuleAnswer | None:
    """Answer small talk."""
    if not is_greeting(context.text):
        return None
    is_first = context.state.turn <= _LABEL_TURNS
    name = "welcome" if _THANKS.search(context.text) else "hello" if is_first else "ok"
    return RuleAnswer((context.say(name),), "small talk")


def quote(context: PromptContext) -> RuleAnswer | Call | None:
    """Quote what memory holds about a question or an order, and say that this is all."""
    is_own = concerns_user(context.text)
    if not is_own and not questions(context.text) and not orders(context.text):
        return None
    facts, rules = facts_in(context), rules_in_force(context)
    own = [fact for fact in facts if is_own and fact.source.startswith(PROFILE)]
    tools = {reply.name for reply in context.replies}
    # What a tool of this turn returned is always quoted, its failure too.
    near = (
        [fact for fact in facts if fact.source in tools][:_QUOTED]
        or own
        or nearest(context.text, [*facts, *rules, *standing_in(context)], limit=_QUOTED)
    )
    if context.searches and not context.replies and not {*near} & {*facts}:
        name, argument = context.searches[0]
        return Call(name, {argument: one_line(context.text)[:300]})
    latest = [] if {*near} & {*facts, *rules} else facts[:_QUOTED]
    return RuleAnswer(
        (*_quotation(context, near, latest), context.say("only_quotes")),
        "quoted memory",
        tuple(fact.source for fact in near if fact.source.startswith("b-")),
    )


def _quotation(context: PromptContext, near: Sequence[Fact], latest: Sequence[Fact]) -> list[str]:
    lines = []
    if near:
        lines += [context.say("about"), *quoted(near, context.language)]
    if latest:
        lines += [context.say("latest"), *quoted(latest, context.language)]
    if has_orders(context):
        lines.append(context.say("left_out"))
    words = [fact.text for fact in (*near, *latest)]
    lines += in_force(context, words, "\n".join(lines))
    return lines or [context.say("empty")]


def note(context: PromptContext) -> RuleAnswer:
    """Say what was noted, without text like an instruction where it is not the user's own."""
    text, lines = unframed(context.text), list[str]()
    if not context.authority.may_rule:
        sentences = split_sentences(text)
        safe = [item for item in sentences if instruction_like(item) is None]
        text = " ".join(safe)
        lines = [context.say("left_out")] if len(safe) < len(sentences) else []
    what = clip_tokens(one_line(text), _NOTED_TOKENS)
    head = context.say("noted", what=what) if what else context.say("noted_short")
    lines += in_force(context, [text], head)
    return RuleAnswer((head, *lines), "noted what was said")


_PARTS: tuple[Callable[[PromptContext], RuleAnswer | Call | None], ...] = (
    answer_command,
    greet,
    refuse,
    confirm_rules,
    describe_rules,
    quote,
)
