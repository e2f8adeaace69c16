"""The Compressor role: the next cognitive state from x_t, the last state and the evidence.

Lists have the newest facts first, and the oldest are dropped at the budget; a changed status
replaces the old one. Of rules it says nothing, which leaves them to the reader at the commit gate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acc_ace.core.gates.commands import parse_command
from acc_ace.core.schemas.commit import CompressorReply
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.rules.mentions import loosening_in, rules_in
from acc_ace.core.text.rules.own_words import without_numbers
from acc_ace.core.text.sentences import split_clauses, split_sentences
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.embedded.conflicts import asks_permission, find_conflict
from acc_ace.ext.embedded.entities import find_entities
from acc_ace.ext.embedded.gist import (
    facts_of,
    gist_of,
    joined,
    listed_options,
    pick,
    references,
    referred_option,
    said_and_answered,
    within,
    without_list,
)
from acc_ace.ext.embedded.phrases import Language
from acc_ace.ext.embedded.relations import find_claim, find_relations, latest
from acc_ace.ext.embedded.speech_acts import (
    is_hedged,
    next_step,
    orders,
    questions,
)
from acc_ace.ext.embedded.superseded_facts import corrected, latest_facts, same_matter
from acc_ace.ext.embedded.text_match import terms_of, unique
from acc_ace.ext.embedded.views import (
    ArtifactView,
    StateView,
    evidence_of,
    state_of,
    turn_input_of,
)

_GIST_TOKENS = 95
_ENTITY_TOKENS = 90
_RELATION_TOKENS = 110
_CUE_TOKENS = 50
_UNCERTAIN_TOKENS = 70
_OPTION_TOKENS = 16
_ALL_OPTIONS_TOKENS = 90
_OPTIONS = {"en": "Options: ", "ja": "選択肢："}


@dataclass(frozen=True)
class _CompressorTurn:
    """x_t with what it says of rules, the previous state, and the evidence."""

    text: str
    rules: Sequence[str]
    loosening: Sequence[str]
    previous: StateView
    artifacts: Sequence[ArtifactView]

    @property
    def language(self) -> Language:
        return language_of(self.text)


def compress(inputs: Mapping[str, object]) -> CompressorReply:
    """The state after x_t; reads `current_input`, `previous_state` and `artifacts`."""
    current = turn_input_of(inputs.get("current_input"))
    previous = state_of(inputs.get("previous_state"))
    text = without_numbers(current.text)
    said = text if current.authority.may_rule else ""
    turn = _CompressorTurn(
        text=text,
        rules=[quote.text for quote in rules_in(said)],
        loosening=[quote.text for quote in loosening_in(said)],
        previous=previous,
        artifacts=evidence_of(inputs.get("artifacts")),
    )
    return CompressorReply(
        episodic_trace=_options_tail(_options(turn), turn.language),
        semantic_gist=_gist(turn),
        focal_entities=_entities(turn),
        relational_map=_relations(turn),
        goal_orientation=previous.ccs.goal_orientation,
        constraints=previous.ccs.constraints,
        predictive_cue=_cue(turn),
        uncertainty_signal=_uncertainty(turn),
        retrieved_artifacts=references(turn.text, turn.artifacts),
    )


def offered_options(trace: str) -> list[str]:
    """The options in an episodic trace of this engine."""
    for mark in _OPTIONS.values():
        _, separator, tail = trace.partition(mark)
        if separator:
            return listed_options(tail)
    return listed_options(trace)


def _options_tail(options: Sequence[str], language: Language) -> str:
    if not options:
        return ""
    each = min(_OPTION_TOKENS, _ALL_OPTIONS_TOKENS // len(options) - 3)
    numbered = (
        f"{number}) {clip_tokens(option, each)}" for number, option in enumerate(options, start=1)
    )
    return _OPTIONS[language] + "; ".join(numbered)


def _options(turn: _CompressorTurn) -> list[str]:
    """The latest options: of x_t, else of the previous answer, else of the state until chosen."""
    reported = listed_options(turn.text)
    if reported:
        return reported
    was_chosen = False
    for artifact in turn.artifacts:
        message, answer = said_and_answered(artifact.content)
        if artifact.kind == "turn" and (offered := listed_options(answer)):
            return offered
        if artifact.kind == "turn":
            was_chosen = referred_option(message) is not None
            break
    if was_chosen and referred_option(turn.text) is None:
        return []
    return offered_options(turn.previous.ccs.episodic_trace)


def _gist(turn: _CompressorTurn) -> str:
    known = split_sentences(turn.previous.ccs.semantic_gist)
    reported = [item for item in facts_of(turn.text) if not is_hedged(item)]
    if is_correction(turn.text):
        known = corrected(reported, known)
    facts = latest_facts([*reversed(reported), *known])
    lasting = _lasting(facts)
    items = within(sorted(facts, key=lambda item: item not in lasting), _GIST_TOKENS)
    return joined(item for item in facts if item in items)


def _lasting(facts: Sequence[str]) -> list[str]:
    """Facts about a named entity, which are kept longer than others.

    So are newer facts about the same matter; otherwise only the outdated ones would be left.
    """
    named = [item for item in facts if find_entities(item)]
    return [item for item in facts if item in named or any(same_matter(item, n) for n in named)]


def _entities(turn: _CompressorTurn) -> list[str]:
    reported = [str(entity) for entity in find_entities(turn.text)]
    wanted = terms_of(turn.text)
    recalled = [
        str(entity)
        for artifact in turn.artifacts
        if terms_of(artifact.content) & wanted
        for entity in find_entities(gist_of(artifact.content, turn.text, tokens=60))
    ]
    return within(unique([*reported, *turn.previous.ccs.focal_entities, *recalled]), _ENTITY_TOKENS)


def _relations(turn: _CompressorTurn) -> list[str]:
    reported = reversed(find_relations(turn.text))
    seen = (
        item
        for artifact in turn.artifacts
        if artifact.kind == "tool_result"
        for item in find_relations(artifact.content)[:2]
    )
    return within(latest([*reported, *turn.previous.ccs.relational_map, *seen]), _RELATION_TOKENS)


def _cue(turn: _CompressorTurn) -> str | None:
    """The first announcement, order or question of x_t that no constraint forbids."""
    if parse_command(turn.text) is not None:
        return None
    constraints = [*turn.previous.ccs.constraints, *turn.rules]
    number = referred_option(turn.text)
    option = pick(_options(turn), number) if number else None
    if option and find_conflict(option, constraints):
        return None  # "Do the second option" does not show which action it means.
    announced, spoken = next_step(turn.text), without_list(turn.text)
    # A release or amendment of a rule needs the user's confirmation; it is no next step.
    for cue in (*([announced] if announced else []), *orders(spoken)):
        step = _still_to_do(cue, turn.loosening)
        if step and find_conflict(step, constraints) is None:
            return clip_tokens(step, _CUE_TOKENS)
    for question in questions(spoken):
        if not (asks_permission(question) and find_conflict(question, constraints)):
            return clip_tokens(question, _CUE_TOKENS)
    return None


def _still_to_do(step: str, ending: Sequence[str]) -> str:
    """The first clause of a step that ends no rule; '' if all clauses do."""
    if not any(quote in step or step in quote for quote in ending):
        return step
    clauses = split_clauses(step)
    left = (item for item in clauses if not any(item in quote or quote in item for quote in ending))
    return next(left, "")


def _uncertainty(turn: _CompressorTurn) -> str:
    """Open points of x_t, then earlier ones of its matter that it does not answer."""
    text = turn.text
    claims = [claim for item in split_sentences(text) if (claim := find_claim(item))]
    hedged = [item for item in split_sentences(text) if is_hedged(item)]
    matter, answered = terms_of(text), terms_of(" ".join(facts_of(text)))
    before = [
        item
        for item in split_sentences(turn.previous.ccs.uncertainty_signal)
        if terms_of(item) & matter and not _answers(answered, item)
    ]
    return joined(within(unique([*hedged, *claims, *before]), _UNCERTAIN_TOKENS))


def _answers(reported: frozenset[str], item: str) -> bool:
    wanted = terms_of(item)
    return bool(wanted) and len(reported & wanted) / len(wanted) >= 0.6
