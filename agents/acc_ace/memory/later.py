"""What was said later about the subject of what was found: it may say that this holds no more.

A change seldom repeats the words of what it changes ("They raised it to 55 euros."), so that no
search of x_t finds it. It was said right after, or it names something that the earlier words name.
Where these are found, it comes with them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.text.exchange import USER, parts_of, parts_of_input
from acc_ace.core.text.search_terms import query_terms
from acc_ace.memory.query_terms import OWN_ENDS
from acc_ace.memory.ranking import Document, Ranked, best_first
from acc_ace.memory.scoring import CorpusStatistics, rarity

MOST_LEADS = 4
"""Best matches of which what was said later is looked for."""

MOST_LATER = 2
"""Later turns that come with them, so that they displace little else."""

_SHARE = 0.95
"""Of the score of a lead, what comes with it has this share: it stands right behind."""

_MOST_TERMS = 48
"""Of what the user says, in a turn that states or changes a fact: some thirty words."""

_RARE = 0.1
"""Of all documents, at most this share holds a term that names a subject; three may always."""


class Lead(NamedTuple):
    """A turn that x_t found, and the terms that the user named in it."""

    found: Ranked
    place: Document
    named: frozenset[str]


def leads_of(ranked: Iterable[Ranked], documents: Mapping[str, Document]) -> list[Ranked]:
    """The best matches that are turns in which the user said something."""
    said = (item for item in ranked if _is_said(documents[item.artifact_id]))
    return list(islice(said, MOST_LEADS))


def named_in(artifact: Artifact) -> frozenset[str]:
    """The terms of the user's own words in a turn, which name its subject."""
    parts = parts_of(artifact.content)
    own = next((part.text for part in parts if part.who == USER), "")
    said = next(iter(parts_of_input(USER, own)), None)
    return frozenset(query_terms(said.text if said else ""))


def with_later(
    ranked: Sequence[Ranked],
    leads: Sequence[Lead],
    documents: Collection[Document],
    statistics: CorpusStatistics,
) -> list[Ranked]:
    """The ranked, and right behind each lead what was said later about its subject."""
    items = {item.artifact_id: item for item in ranked}
    pairs = ((lead, each) for lead in leads for each in _later(lead, documents, statistics))
    for lead, later in islice(pairs, MOST_LATER):
        score = round(_SHARE * lead.found.score, 6)
        known = items.get(later.artifact_id)
        if known is None or known.score < score:
            why = [*(known.why if known else []), f"later than {lead.found.artifact_id}"]
            items[later.artifact_id] = Ranked(later.artifact_id, later.created_at, score, why)
    return sorted(items.values(), key=lambda item: best_first(item.score, item))


def _later(
    lead: Lead, documents: Iterable[Document], statistics: CorpusStatistics
) -> list[Document]:
    """What was said right after, and the newest of what names most of the lead's subject."""
    place = lead.place.place
    after = [
        each for each in documents if _is_said(each) and each.created_at > lead.place.created_at
    ]
    right_after = (place.session, (place.turn or 0) + 1)
    nexts = [each for each in after if each.place[:2] == right_after]
    most = max(3.0, _RARE * statistics.documents)
    names = {t for t in lead.named if statistics.frequencies.get(t, 0) <= most}
    shared = [
        (sum(rarity(term, statistics) for term in names.intersection(_own(each))), each)
        for each in after
    ]
    weight, best = max(shared, key=lambda pair: (pair[0], pair[1].created_at), default=(0.0, None))
    return [*nexts, best] if best is not None and weight and best not in nexts else nexts


def _own(document: Document) -> list[str]:
    """The terms of what the user said; none where nothing says who said what."""
    own, ends, _ = document.terms.partition(OWN_ENDS)
    return own.split() if ends else []


def _is_said(document: Document) -> bool:
    """Whether it is a turn in which the user said something, as short as a fact is said."""
    place = document.place
    is_turn = place.turn is not None and place.session is not None
    return is_turn and 0 < len(_own(document)) <= _MOST_TERMS
