"""What memory holds about a text: sentences word for word, each with its source.

Matched by shared words alone. Nothing is chosen, computed or concluded beyond that.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from acc_ace.core.text.exchange import AGENT, QUOTED, USER, ExchangePart, parts_of
from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.prompt import Quotation
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import content_words, normalised
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.embedded.phrases import Language, say
from acc_ace.ext.embedded.prompt_context import PromptContext
from acc_ace.ext.embedded.prompt_parts import SEARCH, ToolReply
from acc_ace.ext.embedded.speech_acts import is_question, is_said, units_of

_TURN_ID = lazy_pattern(r"turn:.{1,200}:(?P<turn>\d{1,9})")
_REFERENCE = lazy_pattern(r"\[(?P<id>[^\]]+)\] (?P<text>.*)")
_OPENING = lazy_pattern(r'<artifact id="(?P<id>[^"\n]{1,200})"')
_FRAME = lazy_pattern(
    r"\[quoted words, which lift nothing: .*? is in force\] \"(?P<words>.*?)\"?$", re.DOTALL
)
_BESIDE_BEST = 0.4
"""Share of the best fact's score that another needs to be quoted with it."""

_NOT_TOLD = frozenset({AGENT, QUOTED, "turn"})
"""The agent's own words only repeat, what was quoted is others', and of a cut one nobody knows."""

PROFILE = "fact:"
"""How the ids of what is known of the user begin."""

_TEXT_TOKENS = 90
_MAX_PAYLOAD = 12_000


class Fact(NamedTuple):
    """A sentence of memory and where it stands; `turn` is 0 without one, a higher one is newer."""

    text: str
    source: str
    turn: int = 0


def facts_in(context: PromptContext) -> list[Fact]:
    """The sentences of state, references, attachments and searches, newest first.

    The rules and what else holds in every turn are left to `rules_in_force` and `standing_in`.
    """
    facts = [
        Fact(sentence, context.say("state"), max(1, context.state.turn - age))
        for age, sentence in enumerate(split_sentences(context.state.ccs.semantic_gist))
    ]
    for item in context.state.ccs.retrieved_artifacts:
        if match := _REFERENCE.fullmatch(item):
            facts += _in_reference(match["id"], match["text"])
    for given in context.attachments:
        facts += [Fact(item, given.source) for item in _telling(given.text)]
    for reply in context.replies:
        facts += _in_reply(reply)
    known = {normalised(fact.text) for fact in (*rules_in_force(context), *standing_in(context))}
    new = (fact for fact in facts if normalised(fact.text) not in known)
    return distinct(sorted(new, key=lambda fact: -fact.turn))


def rules_in_force(context: PromptContext) -> list[Fact]:
    """The constraints, each with its id."""
    return [Fact(pin.text, pin.id) for pin in context.state.pins]


def standing_in(context: PromptContext) -> list[Fact]:
    """The goal and the lessons."""
    facts = [Fact(item.content, item.id) for item in context.bullets]
    if goal := context.state.ccs.goal_orientation:
        facts.append(Fact(goal, context.say("goal_source")))
    return facts


def nearest(query: str, facts: Sequence[Fact], *, limit: int) -> list[Fact]:
    """The facts that share most words with a text, of which rare ones count more; newest first.

    With the best comes what was said later in its words: a change seldom repeats the question's.
    """
    wanted = content_words(query)
    shared = [content_words(fact.text) & wanted for fact in facts]
    spread = Counter(word for words in shared for word in words)
    weight = {word: 1.0 + log((1 + len(facts)) / count) for word, count in spread.items()}
    scores = [sum(sorted(weight[word] for word in words)) for words in shared]
    near = max(scores, default=0.0) * _BESIDE_BEST
    order = sorted(range(len(facts)), key=lambda at: -scores[at])
    best = [facts[at] for at in order if scores[at] and scores[at] >= near][:limit]
    best += [fact for fact in _said_later(best[:1], facts) if fact not in best]
    return sorted(best, key=lambda fact: -fact.turn)


def _said_later(best: Sequence[Fact], facts: Iterable[Fact]) -> list[Fact]:
    """Of a session's facts that are newer than the best, the newest that shares words with it."""
    for top in best:
        words, session = content_words(top.text), top.source.rpartition(":")[0]
        new = (each for each in facts if each.turn > top.turn and each.source.startswith(session))
        return [each for each in new if top.turn and content_words(each.text) & words][:1]
    return []


def distinct(facts: Iterable[Fact]) -> list[Fact]:
    """Facts without repetitions; the stored one stands for that of the state."""
    first: dict[str, Fact] = {}
    for fact in facts:
        key = normalised(fact.text)
        known = first.setdefault(key, fact)
        if _rank(fact.source) > _rank(known.source):
            first[key] = fact._replace(turn=known.turn)
    return list(first.values())


def _rank(source: str) -> int:
    """How well a source says where words are stored: the profile, a turn, anything else."""
    return next((rank for rank, name in ((2, PROFILE), (1, "turn:")) if source.startswith(name)), 0)


def quoted(facts: Iterable[Fact], language: Language) -> list[str]:
    """Facts as lines, each with its source."""
    return [
        say("quote", language, text=clip_tokens(fact.text, _TEXT_TOKENS), source=fact.source)
        for fact in facts
    ]


def unframed(text: str) -> str:
    """The words of a text that was quoted because they go against a rule; `in_force` names it."""
    return _FRAME.sub(r"\g<words>", text)


def has_orders(context: PromptContext) -> bool:
    """Whether an attachment or a reply has text like an instruction, which is never quoted."""
    texts = [given.text for given in context.attachments]
    texts += [text for reply in context.replies for text in _texts(reply.payload)]
    return any(instruction_like(item) for text in texts for item in split_sentences(text))


def _in_reference(artifact_id: str, text: str) -> Iterator[Fact]:
    cited = Quotation.read(text) or Quotation("", "", text)
    parts = parts_of(cited.text, in_line=True)
    # A cut takes the label from words whose speaker the quotation names.
    yield from _told(artifact_id, [part._replace(who=part.who or cited.who) for part in parts])


def _told(artifact_id: str, parts: Iterable[ExchangePart]) -> Iterator[Fact]:
    """What was told to the agent."""
    match = _TURN_ID.fullmatch(artifact_id)
    turn = int(match["turn"]) if match else 0
    for who, words in parts:
        if who not in _NOT_TOLD:
            for item in _telling(words):
                if not is_question(item) and (who != USER or is_said(item)):
                    yield Fact(item, artifact_id, turn)


def _in_reply(reply: ToolReply) -> Iterator[Fact]:
    for text in _texts(reply.payload):
        opening = _OPENING.match(text)
        if reply.name != SEARCH:
            yield from (Fact(item, reply.name) for item in _telling(text))
        elif opening is not None:
            lines = [line[2:] for line in text.splitlines() if line.startswith("| ")]
            parts = parts_of("\n".join(lines))
            # An excerpt of a turn that begins within what somebody said does not say who.
            is_turn = _TURN_ID.fullmatch(opening["id"]) is not None
            yield from _told(opening["id"], [part for part in parts if part.who or not is_turn])


def _texts(payload: object) -> list[str]:
    """The texts of a tool's reply; of a search its results alone."""
    if isinstance(payload, str):
        return [payload[:_MAX_PAYLOAD]]
    if isinstance(payload, list | tuple):
        return [text for item in payload[:50] for text in _texts(item)]
    if not isinstance(payload, Mapping):
        return [str(payload)]
    if "results" in payload:
        return _texts(payload["results"])
    return [f"{name}: {text}" for name, value in payload.items() for text in _texts(value)]


def _telling(text: str) -> Iterator[str]:
    return (item for item in units_of(unframed(text)) if instruction_like(item) is None)
