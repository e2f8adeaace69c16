"""Rule 4 of the commit gate: what a CCS carries by name is known, or was said.

References are known ids with gist, never the content; of entities the latest facts come first and
the longest unmentioned go out.
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
"""A longer gist is content that was copied; it is cut."""

_FIELD = "retrieved_artifacts"
_ID = lazy_pattern(r"\[(.{1,256}?)\](?=\s|$)")
"""The id at the start of a reference that this gate wrote."""

_BOUNDARY = lazy_pattern(r"\s*\][\s:：—–-]*|[:：]?(?:\s[\s—–-]*|$)")
"""What may stand between an id and its gist."""
_SAID_CHARS = 65_536
"""Characters of x_t in which mentioned entities are looked for."""

_SCANNED_ITEMS = 256
_SCANNED_CHARS = 4_096
_DETAIL_TOKENS = 16
_JUDGED_TOKENS = 4_000
"""Of one artifact; no stage is shown more."""


class Reference(NamedTuple):
    """An artifact's id with the gist of what it holds."""

    artifact_id: str
    gist: str


class References(NamedTuple):
    """The references of a state, and what was mended."""

    items: list[str]
    repairs: list[Repair]


class Evidence(NamedTuple):
    """What the CCM was shown beside x_t and CCS_{t-1}: texts by artifact id."""

    texts: Mapping[str, str]
    own_turns: frozenset[str] = frozenset()
    """Ids of this session's turns: they quote what was asked under its rules."""

    def against(self, pins: Sequence[ConstraintPin]) -> frozenset[str]:
        """Ids of what was qualified and goes against a rule, one that x_t has made included."""
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
    """Rule 4: what a state names was said or seen; references are to artifacts that are known.

    Names, ids and numbers occur in x_t, CCS_{t-1} or the evidence. Earlier references and entities
    follow the CCM's while they fit, those that x_t mentions first.
    """
    said = [turn_input.text, *(given.text for given in turn_input.attachments)]
    sources = Sources([*said, before.model_dump_json(), *evidence.texts.values(), *evidence.texts])
    grounded, repairs = ground(proposal, sources, pins)
    if not grounded.episodic_trace and proposal.episodic_trace:
        trace = fit_text(turn_input.text, limits.episodic_trace_tokens).text
        grounded = grounded.model_copy(update={"episodic_trace": trace})
    # What went against older rules did not qualify.
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
    """The ids that well-formed references name."""
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
    # Longest first, so that an id is never taken for another one that begins it.
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
    """The known artifact that a line begins with, its id in brackets or bare."""
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
"""What follows the name of an entity: 'server:db-01 (down)', 'server:db-01 = down'."""


def merge_entities(
    kept: Sequence[str], previous: Sequence[str], said: str, *, budget: int, max_items: int
) -> list[str]:
    """The CCM's entities, then the earlier ones that still fit.

    Earlier ones that x_t mentions stand before the others. An earlier fact about an entity that
    the CCM lists again is replaced by the CCM's.
    """
    known = {_identity(item) for item in kept}
    earlier = [item for item in previous if _identity(item) not in known]
    heard = _folded(said)
    earlier.sort(key=lambda item: _name(item) not in heard)
    return append_fitting(list(kept), earlier, budget=budget, max_items=max_items)


def _identity(item: str) -> str:
    return _FACT.sub("", _folded(item)).strip()


def _name(item: str) -> str:
    """The name without its type."""
    identity = _identity(item)
    return identity.partition(":")[2].strip() or identity


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", visible(text)).casefold()
