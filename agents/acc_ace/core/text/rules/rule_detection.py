"""Find the rules that a speaker lays on the agent or its work."""

from collections.abc import Iterator

from acc_ace.core.schemas.user_words import OwnQuote
from acc_ace.core.text.normalize import language_of, normalise
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.rules import mood_en, mood_ja, rules_en, rules_ja
from acc_ace.core.text.rules.quoted_spans import is_only_quotation, mask_quotations, own_sentences
from acc_ace.core.text.sentences import remembered, split_clauses

_LEANS_BACK = lazy_pattern(r"\b(?:it|them|that|this|these|those|one|he|she)\b|これ|それ|あれ")
"""Words that take their meaning from another clause."""


def detect_rules(text: str) -> list[OwnQuote]:
    """The standing rules that the speaker of a text lays on the agent or the work, in order.

    A rule is a prohibition, obligation, policy, limit or lasting preference, said outright or
    implied ("Prod is frozen until Monday"). Not rules: questions, guesses, suppositions, the past,
    advice, idioms, one-off orders, releases, and other people's words, reported or pasted.
    A sentence with several rules gives one span for each. English, Japanese and mixed text; looks
    at the first `normalize.MAX_ANALYSED` characters, in time linear in them.
    """
    return list(_rules_in(text))


@remembered
def _rules_in(text: str) -> tuple[OwnQuote, ...]:
    return tuple(
        OwnQuote(part, sentence) for sentence in own_sentences(text) for part in _rules_of(sentence)
    )


@remembered
def _rules_of(sentence: str) -> tuple[str, ...]:
    return tuple(_stated_rules(sentence))


def _stated_rules(sentence: str) -> Iterator[str]:
    if _is_asked(sentence) or sentence.endswith((":", "：")):
        # A line that announces rules is none itself.
        return
    clauses = split_clauses(sentence)
    ruling = [clause for clause in clauses if _states_rule(clause)]
    if len(ruling) > 1:
        yield from ruling
    elif ruling and len(clauses) > 1 and not _LEANS_BACK.search(normalise(ruling[0])):
        yield ruling[0]
    elif ruling or _states_rule(sentence):
        yield sentence


def _is_asked(sentence: str) -> bool:
    folded = normalise(sentence)
    if language_of(folded) == "ja":
        return mood_ja.is_question(folded)
    return mood_en.is_question(folded)


def _states_rule(clause: str) -> bool:
    spoken = clause if is_only_quotation(clause) else mask_quotations(clause)
    folded = normalise(spoken).strip('「」『』" ')
    if language_of(folded) == "ja":
        return rules_ja.states_rule(folded)
    return rules_en.states_rule(folded)
