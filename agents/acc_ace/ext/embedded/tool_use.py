"""Call a tool if x_t clearly asks for one, and read its reply."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.embedded.entities import names_in
from acc_ace.ext.embedded.extractive_qa import (
    bullets_in,
    facts_in,
    newest,
    quoted_lines,
    turn_of,
)
from acc_ace.ext.embedded.gist import listed_options, said_and_answered
from acc_ace.ext.embedded.phrases import say
from acc_ace.ext.embedded.prompt_context import Call, PromptContext, RuleAnswer
from acc_ace.ext.embedded.prompt_parts import ToolReply
from acc_ace.ext.embedded.speech_acts import is_greeting, is_order, is_question
from acc_ace.ext.embedded.text_match import Fact, best_facts, distinct

CALCULATE = "calculate"
CURRENT_TIME = "current_time"
SEARCH = "search_evidence"
READ_FILE = "read_file"

_EXPRESSION = re.compile(r"[(\d][\d\s.,+\-*/×÷^()%]*[\d)]")
_OPERATOR = re.compile(r"\d\s*[)]*\s*(?:[+*/×÷^]|\s-\s|(?<=\d)-(?=\d))\s*[(]*\s*\d")
_DATE_LIKE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,4}/\d{1,2}/\d{1,4}|\d-\d{3,4}-\d{3,4}")
_ASKS_SUM = re.compile(
    r"\b(?:calculate|compute|what(?:'s| is)|how (?:much|many)|work out|add up)\b|計算"
    r"|いくら|いくつ|[=＝]|何",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhat(?:'s| is)? (?:the )?(?:(?:current |exact |local )?(?:time|date)|day)(?: is it| now"
    r"| today)?(?: (?:in|at|for) [\w /-]{2,40}?)?\s*(?:right now|now)?\s*\?"
    r"|\b(?:current time|what time is it|today's date)\b|今(?:は)?何時|現在の?時[刻間]"
    r"|今日は何(?:日|曜日)|今何時|今の時[刻間]は",
    re.IGNORECASE,
)
_ASKS_EVIDENCE = re.compile(
    r"\bwhat (?:exactly )?(?:did|have) (?:we|i|you) (?:say|said|decide|agree|tell|told|note"
    r"|write|discuss)"
    r"|\bdid (?:we|i|you) (?:ever )?(?:say|mention|decide|agree|talk|discuss)"
    r"|\bsearch (?:the |your |my |our )?(?:evidence|memory|history|records?|notes)"
    r"|\b(?:i|we|you) (?:said|mentioned|told you) (?:earlier|before|at the (?:start|beginning))"
    r"|(?:前に|以前|さっき|先ほど|最初に|冒頭で).{0,30}(?:言|話|伝え|決め|聞い|報告)"
    r"|記録を(?:検索|調べ|探)|何と言(?:い|っ)",
    re.IGNORECASE,
)
_ASKS_FILE = re.compile(
    r"\b(?:read|open|show|cat|check|look (?:at|in|into)|what does|what's in|what is in)\b"
    r"|読(?:ん|み)|見せ|開い|確認し|何(?:が|と)(?:書|あり)",
    re.IGNORECASE,
)
_OPENING = re.compile(r'<artifact id="(?P<id>[^"\n]{1,200})" source="(?P<source>[^"\n]{0,200})"')
_LIST_TOKENS = 90
_ORDER_WEIGHT = 0.3
"""Weight of a past order, which has facts only in passing."""

_MAX_QUERY = 300
_MAX_PAYLOAD = 12_000
_MAX_LINES = 3


def asked_call(situation: PromptContext) -> Call | None:
    """The tool call that x_t clearly asks for, declared or not."""
    text = situation.text
    if (expression := expression_in(text)) is not None:
        return _call(situation, CALCULATE, expression)
    if _ASKS_TIME.search(text):
        return Call(CURRENT_TIME, {})
    if _ASKS_FILE.search(text) and (files := names_in(text, "file")):
        return _call(situation, READ_FILE, files[0])
    if _ASKS_EVIDENCE.search(text):
        return search_call(situation)
    return None


def search_call(situation: PromptContext) -> Call:
    """A call that searches the evidence for x_t."""
    return _call(situation, SEARCH, " ".join(situation.text.split())[:_MAX_QUERY])


def lookup_call(situation: PromptContext) -> Call | None:
    """A call that looks x_t up: by a tool that takes a `question`, or else in the evidence."""
    for name, arguments in situation.tools.items():
        if "question" in arguments:
            return Call(name, {"question": " ".join(situation.text.split())[:_MAX_QUERY]})
    return search_call(situation) if SEARCH in situation.tools else None


def expression_in(text: str) -> str | None:
    """The arithmetic expression that a text asks for, or None; not dates, versions or hosts."""
    bare = _DATE_LIKE.sub(" ", text[:2_000])
    for match in _EXPRESSION.finditer(bare):
        expression = match.group().strip()
        alone = bare[: match.start()].strip() == "" and bare[match.end() :].strip() in {"", "="}
        if _OPERATOR.search(expression) and (alone or _ASKS_SUM.search(bare)):
            if bare[: match.start()].endswith(("-", "v", ".", ":")):
                continue
            return expression.replace(",", "")
    return None


def answer_from(situation: PromptContext) -> RuleAnswer:
    """Answer from the last tool reply of this turn."""
    reply = situation.replies[-1]
    language = situation.language
    if reply.error is not None:
        short = " ".join(reply.error.split())[:200]
        line = say("tool_failed", language, tool=reply.name, why=short)
        return RuleAnswer((line,), f"{reply.name} failed")
    match reply.name:
        case "calculate":
            line = f"{_first(reply.args)} = {_flat(reply.payload)}"
            return RuleAnswer((line,), "calculated with the tool")
        case "current_time":
            line = say("time_is", language, time=_flat(reply.payload))
            return RuleAnswer((line,), "asked the clock tool")
        case "read_file":
            head = say("file_says", language, file=_first(reply.args))
            return _quoted(situation, reply, head)
        case "search_evidence":
            return _quoted(situation, reply, say("found", language))
    return _quoted(situation, reply, f"{reply.name}:")


def _quoted(situation: PromptContext, reply: ToolReply, head: str) -> RuleAnswer:
    facts = list(_facts_in(reply.payload))
    if reply.name == SEARCH:
        dated = (replace(fact, turn=turn_of(fact.cite)) for fact in facts)
        facts = newest([*dated, *facts_in(situation)])
    safe = [fact for fact in facts if not instruction_like(fact.text)]
    best = _best(situation, safe, whole=reply.name != SEARCH)
    lines = quoted_lines(distinct(best))
    if not lines:
        name = "found_nothing" if reply.name == SEARCH else "unknown"
        head = say(name, situation.language)
    if len(safe) < len(facts):
        lines.append(say("left_out", situation.language))
    return RuleAnswer((head, *lines), f"read what {reply.name} returned", bullets_in(best))


def _best(situation: PromptContext, facts: list[Fact], *, whole: bool) -> list[Fact]:
    plain = [
        replace(fact, weight=fact.weight * _ORDER_WEIGHT) if is_order(fact.text) else fact
        for fact in facts
        if not (is_question(fact.text) or is_greeting(fact.text))
    ]
    best = best_facts(plain, situation.text, limit=_MAX_LINES, whole=whole)
    return best or (facts[:_MAX_LINES] if whole else [])


def _facts_in(payload: object) -> Iterator[Fact]:
    """Sentences of a reply, each with the id of its artifact."""
    if isinstance(payload, str):
        yield from _sentences_in(payload[:_MAX_PAYLOAD])
    elif isinstance(payload, list | tuple):
        for item in payload[:50]:
            yield from _facts_in(item)
    elif isinstance(payload, Mapping):
        texts = payload.get("results", payload.get("content"))
        yield from _facts_in(_flat(payload) if texts is None else texts)


def _sentences_in(text: str) -> Iterator[Fact]:
    cite = ""
    if opening := _OPENING.match(text):
        if opening["source"] == "tool:search_evidence":
            return  # It only repeats other artifacts.
        cite = opening["id"]
        text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("| "))
    question, answer = said_and_answered(text)
    if listed_options(question):
        yield Fact(clip_tokens(" ".join(question.split()), _LIST_TOKENS), cite)
    else:
        corrects = is_correction(question)
        yield from (Fact(item, cite, corrects=corrects) for item in split_sentences(question))
    # The agent's own earlier answers count less than its inputs.
    yield from (Fact(sentence, cite, weight=0.25) for sentence in split_sentences(answer))


def _call(situation: PromptContext, name: str, value: str) -> Call:
    """A call with the value as the tool's first argument."""
    usual = {CALCULATE: "expression", SEARCH: "query", READ_FILE: "path"}
    arguments = situation.tools.get(name, ())
    key = arguments[0] if arguments else usual[name]
    return Call(name, {key: value})


def _first(args: Mapping[str, object]) -> str:
    return next((str(value) for value in args.values()), "")


def _flat(payload: object) -> str:
    """A short reply as text: the value itself, or the values of its fields."""
    if isinstance(payload, Mapping):
        for key in ("value", "time", "result", "text"):
            if key in payload:
                return _flat(payload[key])
        return ", ".join(f"{key}: {_flat(value)}" for key, value in payload.items())[:400]
    return " ".join(str(payload).split())[:400]
