"""Rule 4 of the commit gate: everything that a CCS names is known or was said.

References are known ids with what matters of them: of this turn's evidence a short quotation that
code has chosen, else a gist, never the content. Entities are ordered by latest mention; those not
mentioned for longest are dropped first.
"""

import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from acc_ace.core.gates.ccs_budget import FittedState, append_fitting, fit_text
from acc_ace.core.gates.grounding import AGAINST_RULE, Sources, ground
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import ConstraintPin, Repair
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.user_words import UserWords
from acc_ace.core.text.normalize import one_line, short_ids, visible
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens

ARTIFACT_UNKNOWN = "artifact_unknown"

GIST_TOKENS = 32
"""Maximum tokens of a gist, and of a quotation of an earlier turn; a longer one is cut."""

_CARRIED_SHARE = 0.2
"""Maximum share of the budget that references of earlier turns fill."""

_FIELD = "retrieved_artifacts"
_ID = lazy_pattern(r"\[(.{1,256}?)\](?=\s|$)")
"""The id at the start of a reference that this gate wrote."""

_BOUNDARY = lazy_pattern(r"\s*\][\s:：—–-]*|[:：]?(?:\s[\s—–-]*|$)")
"""Separators between an id and its gist."""
_SAID_CHARS = 65_536
"""Maximum characters of x_t searched for mentioned entities."""

_SCANNED_ITEMS = 256
_SCANNED_CHARS = 4_096
_DETAIL_TOKENS = 16
_JUDGED_TOKENS = 4_000
"""Maximum tokens checked of one artifact; no stage is shown more."""


class Reference(NamedTuple):
    """An artifact's id with a gist of its content."""

    artifact_id: str
    gist: str


class Evidence(NamedTuple):
    """Texts by artifact id that the CCM was shown in addition to x_t and CCS_{t-1}."""

    texts: Mapping[str, str]
    own_turns: frozenset[str] = frozenset()
    """Ids of this session's turns: they quote requests made under its rules."""
    quotations: Mapping[str, str] = MappingProxyType({})
    """Quotation of each artifact for this turn, attributed, best first."""

    def against(self, rules: Callable[[str], bool]) -> frozenset[str]:
        """Ids of qualified artifacts whose text is against the rules."""
        return frozenset(
            artifact_id
            for artifact_id, text in self.texts.items()
            if artifact_id not in self.own_turns and rules(clip_tokens(text, _JUDGED_TOKENS))
        )


NO_EVIDENCE = Evidence({})


def rule_4_grounded(
    proposal: CompressedCognitiveState,
    before: CompressedCognitiveState,
    turn_input: TurnInput,
    evidence: Evidence,
    pins: Sequence[ConstraintPin],
    *,
    words: UserWords,
    limits: Limits,
) -> FittedState:
    """Rule 4: everything that a state names was said or seen; references are to known artifacts.

    Names, ids and numbers must occur in x_t, CCS_{t-1} or the evidence. Earlier references and
    entities follow the CCM's while they fit, those that x_t mentions first.
    """
    texts = [turn_input.text, *(given.text for given in turn_input.attachments)]
    sources = Sources([*texts, before.model_dump_json(), *evidence.texts.values(), *evidence.texts])
    is_against = words.against(pins)
    grounded, repairs = ground(proposal, sources, is_against)
    if not grounded.episodic_trace and proposal.episodic_trace:
        trace = fit_text(turn_input.text, limits.episodic_trace_tokens).text
        grounded = grounded.model_copy(update={"episodic_trace": trace})
    # Only new rules: text against older ones did not qualify.
    newly = [pin for pin in pins if pin.text not in before.constraints]
    against = evidence.against(words.against(newly))
    for artifact_id in sorted(against):
        repairs.append(Repair(field=_FIELD, reason=AGAINST_RULE, detail=artifact_id))
    references, mended = merge_references(
        grounded.retrieved_artifacts,
        [
            item
            for item in before.retrieved_artifacts
            if not artifact_ids([item]) & against and not is_against(item)
        ],
        evidence.texts.keys() - against,
        quotations=_obedient(evidence, against, is_against, repairs),
        limits=limits,
    )
    entities = merge_entities(
        grounded.focal_entities,
        before.focal_entities,
        turn_input.text[:_SAID_CHARS],
        budget=limits.focal_entities_tokens,
        max_items=limits.list_items,
    )
    named = {"retrieved_artifacts": references, "focal_entities": entities}
    return FittedState(grounded.model_copy(update=named), [*repairs, *mended])


def artifact_ids(items: Sequence[str]) -> frozenset[str]:
    """The ids of well-formed references."""
    matches = (_ID.match(item) for item in items)
    return frozenset(match[1] for match in matches if match)


def merge_references(
    proposed: Sequence[str],
    previous: Sequence[str],
    known: Collection[str],
    *,
    quotations: Mapping[str, str] = NO_EVIDENCE.quotations,
    limits: Limits,
) -> tuple[list[str], list[Repair]]:
    """The CCM's references to known artifacts, then other quotations, then previous references.

    A quotation takes the place of the CCM's gist. What was quoted in an earlier turn is cut to a
    gist, so that quotations do not pile up; those that still fit stay.
    """
    known = frozenset(known) | artifact_ids(previous)
    budget, repairs = limits.retrieved_artifacts_tokens, list[Repair]()
    items: dict[str, str] = {}
    for reference in _read(proposed, known, quotations, repairs):
        items.setdefault(reference.artifact_id, _written(reference))
    own = append_fitting([], items.values(), budget=budget, max_items=limits.list_items)
    if len(own) < len(items):
        dropped = f"{len(items) - len(own)} references dropped"
        repairs.append(Repair(field=_FIELD, reason="over_budget", detail=dropped))
    quoted = [Reference(*item) for item in quotations.items() if item[0] not in items]
    older = [item for item in previous if not artifact_ids([item]) & {*items, *quotations}]
    merged = append_fitting(own, map(_written, quoted), budget=budget, max_items=limits.list_items)
    return _with_carried(merged, older, limits), repairs


def _obedient(
    evidence: Evidence,
    against: Collection[str],
    is_against: Callable[[str], bool],
    repairs: list[Repair],
) -> dict[str, str]:
    """The quotations that go against no rule in force; those of a session's own turns too."""
    result: dict[str, str] = {}
    for artifact_id, quoted in evidence.quotations.items():
        if not is_against(quoted):
            result[artifact_id] = quoted
        else:
            repairs.append(Repair(field=_FIELD, reason=AGAINST_RULE, detail=artifact_id))
    return {name: quoted for name, quoted in result.items() if name not in against}


def carried(references: Sequence[str], limits: Limits) -> list[str]:
    """References of an earlier turn as later ones know them: gists, in a share of the budget."""
    return _with_carried([], references, limits)


def _with_carried(items: list[str], references: Sequence[str], limits: Limits) -> list[str]:
    budget = int(_CARRIED_SHARE * limits.retrieved_artifacts_tokens)
    gists = map(_carried, references)
    return append_fitting(items, gists, budget=budget, max_items=limits.list_items)


def _carried(item: str) -> str:
    named = _ID.match(item)
    if named is None:
        return item
    gist = clip_tokens(item[named.end() :].strip(), GIST_TOKENS)
    return _written(Reference(named[1], gist))


def _read(
    proposed: Sequence[str],
    known: Collection[str],
    quotations: Mapping[str, str],
    repairs: list[Repair],
) -> Iterator[Reference]:
    # Longest first, so that a prefix of an id does not match instead of it.
    names = {written: name for name in known for written in (short_ids(name), name)}
    ids = sorted(names, key=len, reverse=True)
    for item in proposed[:_SCANNED_ITEMS]:
        line = one_line(item[:_SCANNED_CHARS])
        reference = _reference(line, ids)
        if reference is not None:
            reference = reference._replace(artifact_id=names[reference.artifact_id])
            quoted = quotations.get(reference.artifact_id)
            yield reference._replace(gist=quoted or _gist(reference.gist, repairs))
        elif line:
            detail = clip_tokens(line, _DETAIL_TOKENS)
            repairs.append(Repair(field=_FIELD, reason=ARTIFACT_UNKNOWN, detail=detail))


def _reference(line: str, ids: Sequence[str]) -> Reference | None:
    """The known artifact whose id starts a line, with or without brackets."""
    bare = line.removeprefix("[").lstrip()
    for artifact_id in ids:
        if not bare.startswith(artifact_id):
            continue
        boundary = _BOUNDARY.match(bare, len(artifact_id))
        if boundary is not None:
            return Reference(artifact_id, bare[boundary.end() :])
    return None


def _gist(text: str, repairs: list[Repair]) -> str:
    fitted = fit_text(text, GIST_TOKENS)
    if fitted.cut:
        detail = f"gist cut to {estimate_tokens(fitted.text)} tokens"
        repairs.append(Repair(field=_FIELD, reason="over_budget", detail=detail))
    return fitted.text


def _written(reference: Reference) -> str:
    return f"[{reference.artifact_id}] {reference.gist}".rstrip()


_FACT = lazy_pattern(r"\s*[(（=＝\[【].*$|\s+[-–—]\s.*$")
"""The fact after an entity's name: 'server:db-01 (down)', 'server:db-01 = down'."""


def merge_entities(
    items: Sequence[str], previous: Sequence[str], text: str, *, budget: int, max_items: int
) -> list[str]:
    """The CCM's entities, then the earlier ones that still fit.

    Earlier ones that x_t mentions precede the others. The CCM's fact about an entity replaces
    the earlier one.
    """
    known = {_identity(item) for item in items}
    earlier = [item for item in previous if _identity(item) not in known]
    mentioned = _folded(text)
    earlier.sort(key=lambda item: _name(item) not in mentioned)
    return append_fitting(list(items), earlier, budget=budget, max_items=max_items)


def _identity(item: str) -> str:
    return _FACT.sub("", _folded(item)).strip()


def _name(item: str) -> str:
    """The name without its type."""
    identity = _identity(item)
    return identity.partition(":")[2].strip() or identity


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", visible(text)).casefold()
