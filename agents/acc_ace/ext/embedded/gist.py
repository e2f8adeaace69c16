"""Extract a text's facts, its best sentence and its list of options."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.rules.mentions import rules_in
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens
from acc_ace.ext.embedded.entities import find_entities
from acc_ace.ext.embedded.relations import find_claim
from acc_ace.ext.embedded.speech_acts import (
    is_aside,
    is_greeting,
    is_order,
    is_question,
    statements,
    without_lead,
)
from acc_ace.ext.embedded.superseded_facts import names_subject
from acc_ace.ext.embedded.text_match import Fact, asked_kinds, best_facts, holds_kind, terms_of
from acc_ace.ext.embedded.views import ArtifactView

_MARK = re.compile(
    r"(?:^|(?<=[\s:：;；,、。.]))(?:\(?(?P<n>[1-9])[).）.、](?!\d)|(?P<c>[①②③④⑤⑥⑦⑧⑨])|[-•・]\s)\s*",
    re.MULTILINE,
)
_CITATION = re.compile(r"\s*\[[^\]\s]{1,200}\]\s*$")
_COPULA = re.compile(r"\s*(?:です|でした|になります|があります)$")
_CIRCLED = "①②③④⑤⑥⑦⑧⑨"
_EN_ORDINAL = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_REFERENCE_EN = re.compile(
    r"\b(?:the )?(?P<word>first|second|third|fourth|fifth|last)"
    r"(?: (?:option|one|choice|item|plan|suggestion|approach|idea|alternative)"
    r"| you (?:listed|gave))"
    r"|\b(?:option|choice|plan|number) (?P<n>[1-9])\b",
    re.IGNORECASE,
)
_REFERENCE_JA = re.compile(
    r"(?P<n>[1-9１-９一二三四五])(?:つ目|番目|番|つめ)(?:の)?(?:案|選択肢|方法|もの|候補|やつ|を|で|に|は)"
    r"|(?:案|選択肢|候補)(?P<m>[1-9１-９①②③④⑤])|(?P<last>最後の(?:案|選択肢|方法))"
)
_JA_DIGITS = {"一": 1, "二": 2, "三": 3, "四": 4, "五": 5}
_MAX_OPTIONS = 9

_TURN = re.compile(r"^(?:system|user|tool|retrieved|agent): ", re.MULTILINE)
QUOTING = re.compile(r"[\"「]|\[[^\]\s]+\]")
"""Marks of a line in which the agent only quotes others."""

_REFERENCE_TOKENS = 110
_BEST_GIST_TOKENS = 48
_GIST_OF_REST_TOKENS = 20
_ENDS = (".", "!", "?", "。", "！", "？", "…")
_ORDER_WEIGHT = 0.3
_ANSWER_WEIGHT = 0.3
"""The agent's answers mostly repeat the state, so they count little as evidence."""

_MAX_CHARS = 12_000
_MAX_SENTENCES = 80


def listed_options(text: str) -> list[str]:
    """Options of the last numbered list ('1. …', '(2) …', '③ …'); [] for fewer than two."""
    text = text[:_MAX_CHARS]
    marks = [mark for mark in _MARK.finditer(text) if mark["n"] or mark["c"]]
    best: list[str] = []
    current: list[str] = []
    for index, mark in enumerate(marks):
        number = int(mark["n"]) if mark["n"] else _CIRCLED.index(mark["c"]) + 1
        end = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        if number == 1:
            current = []
        if number != len(current) + 1:
            continue
        current.append(_tidy(text[mark.end() : end]))
        if len(current) >= 2:
            best = current
    return [item for item in best if item][:_MAX_OPTIONS]


def referred_option(text: str) -> int | None:
    """Number of the option that a text refers to; -1 for the last one, None without a reference."""
    if match := _REFERENCE_EN.search(text):
        word = match["word"]
        return _EN_ORDINAL[word.casefold()] if word else int(match["n"])
    if match := _REFERENCE_JA.search(text):
        if match["last"]:
            return -1
        digit = match["n"] or match["m"]
        if digit in _CIRCLED:
            return _CIRCLED.index(digit) + 1
        return _JA_DIGITS.get(digit) or int(digit)
    return None


def pick(options: list[str], number: int) -> str | None:
    """The option with a number (from 1; -1 for the last), or None."""
    if not options:
        return None
    if number == -1:
        return options[-1]
    return options[number - 1] if 1 <= number <= len(options) else None


def _tidy(text: str) -> str:
    """The first line of an option, up to its first full sentence, without end marks."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    line = next(iter(split_sentences(line)), "")
    line = re.sub(r",?\s+(?:and|or)$", "", line.strip(" ,;、；。.．"))
    line = _CITATION.sub("", line).strip(" ,;、；。.")
    return _COPULA.sub("", line)


def said_and_answered(content: str) -> tuple[str, str]:
    """What the user said in a turn's artifact, what they quoted apart, and the agent's answer."""
    question, _, answer = content.partition("\nagent: ")
    own, _, _ = question.partition("\nquoted: ")
    return _TURN.sub("", own, count=1), answer


def without_list(text: str) -> str:
    """A text without the items of its numbered list, which are offers, not statements."""
    options = listed_options(text)
    if not options:
        return text
    lines = text.splitlines()
    items = [number for number, line in enumerate(lines) if any(item in line for item in options)]
    # The line before the list only announces it.
    dropped = {*items, *([items[0] - 1] if items else [])}
    return "\n".join(line for number, line in enumerate(lines) if number not in dropped)


def facts_of(text: str) -> list[str]:
    """Statements of fact with substance; in a correction also short ones with a subject.

    Excludes rules, reported claims, list items, asides, small talk and instruction-like text.
    Those that name an entity come first.
    """
    spoken = without_list(text[:_MAX_CHARS])
    corrects = is_correction(text)
    rules = {rule.sentence for rule in rules_in(spoken)}
    reported = (item for item in statements(spoken)[:_MAX_SENTENCES] if item not in rules)
    facts = [fact for item in reported if _is_fact(fact := without_lead(item), corrects=corrects)]
    return sorted(facts, key=lambda item: not find_entities(item))


def _is_fact(sentence: str, *, corrects: bool) -> bool:
    return (
        (_has_substance(sentence) or (corrects and names_subject(sentence)))
        and not is_aside(sentence)
        and find_claim(sentence) is None
        and instruction_like(sentence) is None
    )


def gist_of(content: str, query: str, *, tokens: int) -> str:
    """The sentence of a text most relevant to the query, on one line, within `tokens`.

    In a turn, the input counts more than the agent's answer. Questions and instruction-like text
    are never quoted.
    """
    question, answer = map(without_list, said_and_answered(_plain(content[:_MAX_CHARS])))
    answer = "\n".join(line for line in answer.splitlines() if QUOTING.search(line) is None)
    heard = [item for item in split_sentences(question)[:_MAX_SENTENCES] if _is_quotable(item)]
    own = [item for item in split_sentences(answer)[:_MAX_SENTENCES] if _is_quotable(item)]
    facts = [Fact(item, weight=_ORDER_WEIGHT if is_order(item) else 1.0) for item in heard]
    facts += [Fact(item, weight=_ANSWER_WEIGHT) for item in own]
    best = best_facts(facts, query, limit=1, whole=True)
    sentence = best[0].text if best else next(iter(sorted(heard, key=_is_without_substance)), "")
    return clip_tokens(" ".join(sentence.split()), tokens)


def _plain(content: str) -> str:
    """A JSON object, as tools return it, as 'name: value' pairs; other text unchanged."""
    if not content.startswith("{"):
        return content
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, Mapping):
        return ""
    return ", ".join(f"{key}: {item}" for key, item in value.items())


def _is_quotable(sentence: str) -> bool:
    """Whether a sentence states something and is not the heading of a list."""
    heads_a_list = sentence.rstrip().endswith((":", "："))
    empty = heads_a_list or is_greeting(sentence) or is_question(sentence)
    return not empty and instruction_like(sentence) is None and bool(terms_of(sentence))


def _is_without_substance(sentence: str) -> bool:
    return is_order(sentence) or not _has_substance(sentence)


def _has_substance(sentence: str) -> bool:
    return bool(find_entities(sentence)) or (
        estimate_tokens(sentence) >= 5 and len(terms_of(sentence)) >= 3
    )


def references(query: str, artifacts: Sequence[ArtifactView]) -> list[str]:
    """Artifacts by id with what they say about the query, best first.

    Code carries earlier references, and quotes the artifacts where a sentence of them fits.
    """
    wanted, kinds = terms_of(query), asked_kinds(query)
    gists = {item.id: _gist_of_artifact(item, query) for item in artifacts}

    def worth(artifact: ArtifactView) -> float:
        gist = gists[artifact.id]
        bonus = 2.0 if kinds and holds_kind(gist, kinds) else 0.0
        return len(terms_of(gist) & wanted) + bonus

    fresh: dict[str, str] = {}
    for artifact in sorted(artifacts, key=worth, reverse=True):
        gist = gists[artifact.id]
        if gist and gist not in fresh:
            short = gist if len(fresh) < 2 else clip_tokens(gist, _GIST_OF_REST_TOKENS)
            fresh[gist] = f"[{artifact.id}] {short}"
    return within(fresh.values(), _REFERENCE_TOKENS)


def _gist_of_artifact(artifact: ArtifactView, query: str) -> str:
    """An artifact's gist about the query; '' for a turn that only has an order or a rule.

    A rule in force is among the constraints; a released one is no fact any more.
    """
    if artifact.source == "tool:search_evidence":
        return ""  # It only repeats other artifacts.
    gist = gist_of(artifact.content, query, tokens=_BEST_GIST_TOKENS)
    if artifact.kind == "turn" and (is_order(gist) or rules_in(gist)):
        return ""
    return gist


def joined(sentences: Iterable[str]) -> str:
    """Sentences in one line; each gets an end mark, so that they can be split again."""
    return " ".join(item if item.endswith(_ENDS) else item + _end(item) for item in sentences)


def _end(sentence: str) -> str:
    return "。" if language_of(sentence) == "ja" else "."


def within(items: Iterable[str], budget: int) -> list[str]:
    """The first items that fit a token budget together; an item too long is skipped."""
    result, used = [], 0
    for item in items:
        cost = estimate_tokens(item) + 2
        if used + cost <= budget:
            result.append(item)
            used += cost
    return result
