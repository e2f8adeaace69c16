"""What was said later about the subject of what was found: it may say that this holds no more.

A change seldom repeats the words of what it changes ("They raised it to 55 euros."), so that no
search of x_t finds it. It was said right after, or it names something that the earlier words name.
Where these are found, it comes with them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from acc_ace.memory.query_terms import OWN_ENDS
from acc_ace.memory.ranking import Document, Ranked, best_first
from acc_ace.memory.scoring import CorpusStatistics, rarity

MOST_LEADS = 2
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
    """A turn that x_t found, and the rare terms that the user named in it."""

    found: Ranked
    place: Document
    named: frozenset[str]


class _Words(NamedTuple):
    place: Document
    terms: frozenset[str]


def leads_of(ranked: Iterable[Ranked], documents: Mapping[str, Document]) -> list[Ranked]:
    """The best matches that are turns in which the user said something."""
    said = (item for item in ranked if _is_said(documents[item.artifact_id]))
    return list(islice(said, MOST_LEADS))


def named_in(document: Document) -> frozenset[str]:
    """The terms of the user's own words in a turn, which name its subject."""
    return frozenset(_own(document))


def rare(terms: Iterable[str], statistics: CorpusStatistics) -> list[str]:
    """Those of the terms that few documents hold, which name a subject."""
    most = max(3.0, _RARE * statistics.documents)
    return [term for term in terms if statistics.frequencies.get(term, 0) <= most]


def with_later(
    ranked: Sequence[Ranked],
    leads: Sequence[Lead],
    documents: Collection[Document],
    statistics: CorpusStatistics,
) -> list[Ranked]:
    """The ranked, and right behind each lead what was said later about its subject."""
    items = {item.artifact_id: item for item in ranked}
    turns = [_Words(each, frozenset(_own(each))) for each in documents if leads and _is_said(each)]
    pairs = ((lead, each) for lead in leads for each in _later(lead, turns, statistics))
    for lead, later in islice(pairs, MOST_LATER):
        score = round(_SHARE * lead.found.score, 6)
        known = items.get(later.artifact_id)
        if known is None or known.score < score:
            why = [*(known.why if known else []), f"later than {lead.found.artifact_id}"]
            items[later.artifact_id] = Ranked(later.artifact_id, later.created_at, score, why)
    return sorted(items.values(), key=lambda item: best_first(item.score, item))


def _later(lead: Lead, turns: Sequence[_Words], statistics: CorpusStatistics) -> list[Document]:
    """What was said right after, and the newest of what names most of the lead's subject."""
    place = lead.place.place
    after = [each for each in turns if each.place.created_at > lead.place.created_at]
    right_after = (place.session, (place.turn or 0) + 1)
    nexts = [each.place for each in after if each.place.place[:2] == right_after]
    shared = [
        (sum(rarity(term, statistics) for term in lead.named & each.terms), each.place)
        for each in after
        if not lead.named.isdisjoint(each.terms)
    ]
    best = max(shared, key=lambda pair: (pair[0], pair[1].created_at), default=None)
    return [*nexts, best[1]] if best is not None and best[1] not in nexts else nexts


def _own(document: Document) -> list[str]:
    """The terms of what the user said; none where nothing says who said what."""
    own, ends, _ = document.terms.partition(OWN_ENDS)
    return own.split() if ends else []


def _is_said(document: Document) -> bool:
    """Whether it is a turn in which the user said something, as short as a fact is said."""
    place = document.place
    is_turn = place.turn is not None and place.session is not None
    return is_turn and 0 < len(_own(document)) <= _MOST_TERMS
