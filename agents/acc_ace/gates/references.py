"""Rule 4 of the commit gate: everything that a CCS names is known or was said.

References are known ids with a gist, never the content. Entities are ordered by latest mention;
those not mentioned for longest are dropped first.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from acc_ace.gates.ccs_budget import FittedState, append_fitting, fit_text
from acc_ace.gates.contradiction import contradiction
from acc_ace.gates.grounding import AGAINST_RULE, Sources, ground
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import ConstraintPin, Repair
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.text.normalize import one_line, visible
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.tokens import clip_tokens, estimate_tokens

ARTIFACT_UNKNOWN = "artifact_unknown"

GIST_TOKENS = 32
"""Maximum tokens of a gist; a longer one is copied content and is cut."""

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


class References(NamedTuple):
    """The references of a state, and the repairs."""

    items: list[str]
    repairs: list[Repair]


class Evidence(NamedTuple):
    """Texts by artifact id that the CCM was shown in addition to x_t and CCS_{t-1}."""

    texts: Mapping[str, str]
    own_turns: frozenset[str] = frozenset()
    """Ids of this session's turns: they quote requests made under its rules."""

    def against(self, pins: Sequence[ConstraintPin]) -> frozenset[str]:
        """Ids of qualified artifacts that contradict a rule, including new ones of x_t."""
        return frozenset(
            artifact_id
            for artifact_id, text in self.texts.items()
            if artifact_id not in self.own_turns
            and contradiction(clip_tokens(text, _JUDGED_TOKENS), pins) is not None
        )


NO_EVIDENCE = Evidence({})


def rule_4_grounded(
    proposal: CompressedCognitiveState,
    before: CompressedCognitiveState,
    turn_input: TurnInput,
    evidence: Evidence,
    pins: Sequence[ConstraintPin],
    *,
    limits: Limits,
) -> FittedState:
    """Rule 4: everything that a state names was said or seen; references are to known artifacts.

    Names, ids and numbers must occur in x_t, CCS_{t-1} or the evidence. Earlier references and
    entities follow the CCM's while they fit, those that x_t mentions first.
    """
    said = [turn_input.text, *(given.text for given in turn_input.attachments)]
    sources = Sources([*said, before.model_dump_json(), *evidence.texts.values(), *evidence.texts])
    grounded, repairs = ground(proposal, sources, pins)
    if not grounded.episodic_trace and proposal.episodic_trace:
        trace = fit_text(turn_input.text, limits.episodic_trace_tokens).text
        grounded = grounded.model_copy(update={"episodic_trace": trace})
    # Only new rules: text against older ones did not qualify.
    against = evidence.against([pin for pin in pins if pin.text not in before.constraints])
    for artifact_id in sorted(against):
        repairs.append(Repair(field=_FIELD, reason=AGAINST_RULE, detail=artifact_id))
    references = merge_references(
        grounded.retrieved_artifacts,
        [
            item
            for item in before.retrieved_artifacts
            if not artifact_ids([item]) & against and contradiction(item, pins) is None
        ],
        evidence.texts.keys() - against,
        limits=limits,
    )
    entities = merge_entities(
        grounded.focal_entities,
        before.focal_entities,
        turn_input.text[:_SAID_CHARS],
        budget=limits.focal_entities_tokens,
        max_items=limits.list_items,
    )
    named = {"retrieved_artifacts": references.items, "focal_entities": entities}
    return FittedState(grounded.model_copy(update=named), [*repairs, *references.repairs])


def artifact_ids(items: Sequence[str]) -> frozenset[str]:
    """The ids of well-formed references."""
    found = (_ID.match(item) for item in items)
    return frozenset(match[1] for match in found if match)


def merge_references(
    proposed: Sequence[str], previous: Sequence[str], known: Collection[str], *, limits: Limits
) -> References:
    """The CCM's references to known artifacts, then the previous ones that still fit."""
    known = frozenset(known) | artifact_ids(previous)
    budget, repairs = limits.retrieved_artifacts_tokens, list[Repair]()
    items: dict[str, str] = {}
    for reference in _read(proposed, known, repairs):
        items.setdefault(reference.artifact_id, _written(reference))
    kept = append_fitting([], items.values(), budget=budget, max_items=limits.list_items)
    if len(kept) < len(items):
        dropped = f"{len(items) - len(kept)} references dropped"
        repairs.append(Repair(field=_FIELD, reason="over_budget", detail=dropped))
    older = [item for item in previous if not artifact_ids([item]) & items.keys()]
    merged = append_fitting(kept, older, budget=budget, max_items=limits.list_items)
    return References(merged, repairs)


def _read(
    proposed: Sequence[str], known: Collection[str], repairs: list[Repair]
) -> Iterator[Reference]:
    # Longest first, so that a prefix of an id does not match instead of it.
    ids = sorted(known, key=len, reverse=True)
    for item in proposed[:_SCANNED_ITEMS]:
        line = one_line(item[:_SCANNED_CHARS])
        reference = _reference(line, ids)
        if reference is not None:
            yield Reference(reference.artifact_id, _gist(reference.gist, repairs))
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
    kept: Sequence[str], previous: Sequence[str], said: str, *, budget: int, max_items: int
) -> list[str]:
    """The CCM's entities, then the earlier ones that still fit.

    Earlier ones that x_t mentions precede the others. The CCM's fact about an entity replaces
    the earlier one.
    """
    known = {_identity(item) for item in kept}
    earlier = [item for item in previous if _identity(item) not in known]
    mentioned = _folded(said)
    earlier.sort(key=lambda item: _name(item) not in mentioned)
    return append_fitting(list(kept), earlier, budget=budget, max_items=max_items)


def _identity(item: str) -> str:
    return _FACT.sub("", _folded(item)).strip()


def _name(item: str) -> str:
    """The name without its type."""
    identity = _identity(item)
    return identity.partition(":")[2].strip() or identity


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", visible(text)).casefold()
