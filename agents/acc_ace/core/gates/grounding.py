"""Part of rule 4: drop names, ids and numbers of the CCM that no source contains.

Other words are not checked. A gist or cue that contradicts a rule in force is dropped too.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence

from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import Repair
from acc_ace.core.text.normalize import one_line, visible
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import clip_tokens

NOT_GROUNDED = "not_grounded"
AGAINST_RULE = "against_rule"

_DETAIL_TOKENS = 16
_SOURCE_CHARS = 200_000
"""Maximum characters searched for names, of all sources together."""

_NAMED = lazy_pattern(
    r"[A-Za-z0-9_][A-Za-z0-9_./:@-]*\d[A-Za-z0-9_./:@-]*|\d[\d,.]*(?!\))"
    r"|(?<![A-Za-z])[A-Z][A-Za-z]+"
)
"""An id, a number, or a capitalised word."""

_TYPED = lazy_pattern(r"^[^\W\d][^\d:：]{0,23}[:：]\s*")
_ARROW = lazy_pattern(r"\s*(?:->|→|=>|⇒)\s*")
_WORD = lazy_pattern(r"[^\W_]+(?:[-_.][^\W_]+)*")
_THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3}(?!\d))")
_ENDS_HELD = 0.5
"""Minimum share of the words of a relation's end that the sources contain."""


class Sources:
    """The sources of a state: x_t, the previous state, qualified artifacts, tool results."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = _plain(" ".join(texts)[:_SOURCE_CHARS])
        self._dense = self._text.replace(" ", "")

    def holds(self, name: str) -> bool:
        """Whether a name, id or number occurs, ignoring case, width, spaces and commas."""
        plain = _plain(name).strip(" .,:;")
        if not plain or _occurs(plain, self._text):
            return True
        # A number must not match inside a longer one.
        return not any(map(str.isdigit, plain)) and plain.replace(" ", "") in self._dense

    def holds_entity(self, entity: str) -> bool:
        """Whether the name in 'type:name' occurs, or each of its words."""
        name = _TYPED.sub("", entity)
        return self.holds(name) or all(self.holds(word) for word in _WORD.findall(name))

    def holds_relation(self, relation: str) -> bool:
        """Whether each end of 'kind: a -> b' occurs: its names and half of its words."""
        ends = _ARROW.split(_TYPED.sub("", relation))
        return all(self._holds_end(end) for end in ends)

    def _holds_end(self, end: str) -> bool:
        if self.holds(end):
            return True
        words = _WORD.findall(end)
        count = sum(self.holds(word) for word in words)
        return count >= _ENDS_HELD * len(words) and self.holds_names(end)

    def holds_names(self, sentence: str) -> bool:
        """Whether each name, id and number of a sentence occurs; its first word is ignored."""
        for match in _NAMED.finditer(unicodedata.normalize("NFKC", sentence)):
            opens = not sentence[: match.start()].strip()
            word = match.group()
            if not (opens and word.isalpha()) and not self.holds(word):
                return False
        return True


def ground(
    ccs: CompressedCognitiveState, sources: Sources, against: Callable[[str], bool]
) -> tuple[CompressedCognitiveState, list[Repair]]:
    """The state without ungrounded names, and without text that is `against` a rule in force."""
    repairs: list[Repair] = []
    update: dict[str, object] = {
        "episodic_trace": _grounded("episodic_trace", ccs.episodic_trace, sources, repairs)
    }
    checks = (("focal_entities", sources.holds_entity), ("relational_map", sources.holds_relation))
    for field, holds in checks:
        update[field] = _kept(field, getattr(ccs, field), holds, repairs)
    for field in _PROSE:
        update[field] = _grounded(field, getattr(ccs, field) or "", sources, repairs)
    obedient, dropped = obey(ccs.model_copy(update=update), against)
    return obedient, [*repairs, *dropped]


_PROSE = ("semantic_gist", "predictive_cue")
"""Fields of free text by the CCM, which later turns treat as facts."""


def obey(
    ccs: CompressedCognitiveState, against: Callable[[str], bool]
) -> tuple[CompressedCognitiveState, list[Repair]]:
    """The state without text in gist, cue and references that is `against` a rule in force."""
    repairs: list[Repair] = []
    update: dict[str, object] = {
        field: _without(field, AGAINST_RULE, getattr(ccs, field) or "", against, repairs)
        for field in _PROSE
    }
    references = [item for item in ccs.retrieved_artifacts if not against(item)]
    repairs += [
        _repair("retrieved_artifacts", AGAINST_RULE, item)
        for item in ccs.retrieved_artifacts
        if item not in references
    ]
    update["retrieved_artifacts"] = references
    update["predictive_cue"] = update["predictive_cue"] or None
    return ccs.model_copy(update=update), repairs


def _kept(
    field: str, items: Sequence[str], holds: Callable[[str], bool], repairs: list[Repair]
) -> list[str]:
    rest = [item for item in items if holds(item)]
    repairs += [_repair(field, NOT_GROUNDED, item) for item in items if item not in rest]
    return rest


def _grounded(field: str, text: str, sources: Sources, repairs: list[Repair]) -> str:
    return _without(field, NOT_GROUNDED, text, lambda term: not sources.holds_names(term), repairs)


def _without(
    field: str, reason: str, text: str, is_bad: Callable[[str], bool], repairs: list[Repair]
) -> str:
    """The text without its bad sentences; unchanged if there are none."""
    sentences = split_sentences(text)
    bad = [sentence for sentence in sentences if is_bad(sentence)]
    if not bad:
        return text
    repairs += [_repair(field, reason, sentence) for sentence in bad]
    return " ".join(sentence for sentence in sentences if sentence not in bad)


def _repair(field: str, reason: str, text: str) -> Repair:
    return Repair(field=field, reason=reason, detail=clip_tokens(one_line(text), _DETAIL_TOKENS))


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", visible(text)).casefold().split())


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", _folded(text))


def _occurs(plain: str, text: str) -> bool:
    """Whether `plain` occurs in a text at word and number boundaries."""
    start = text.find(plain)
    while start >= 0:
        end = start + len(plain)
        if not (_runs_on(text, start) or _runs_on(text, end)):
            return True
        start = text.find(plain, start + 1)
    return False


def _runs_on(text: str, at: int) -> bool:
    around = text[max(0, at - 1) : at + 1]
    return len(around) == 2 and all(char.isascii() and char.isalnum() for char in around)
