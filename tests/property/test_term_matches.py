"""To read texts before the others are known changes nothing about how they are ranked."""

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.core.text.search_terms import index_terms, query_terms
from acc_ace.memory.priors import TurnPosition
from acc_ace.memory.ranking import (
    OWN_ENDS,
    CorpusStatistics,
    Document,
    SearchQuery,
    rank,
    term_matches,
)

WORDS = ["adopt", "adoption", "adopted", "cat", "server", "restart", "db-01", "昨日", "会議", "は"]
_TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
_COSINES = st.none() | st.floats(-1, 1, allow_nan=False)


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    """Up to a dozen texts of two sessions; some say the same, some are exchanges."""
    texts = draw(st.lists(st.lists(_TEXTS, min_size=1, max_size=2), min_size=1, max_size=12))
    return [
        Document(
            f"a{at}",
            float(at),
            OWN_ENDS.join(map(index_terms, sides)),
            TurnPosition(f"s{at % 2}", at // 2),
        )
        for at, sides in enumerate(texts)
    ]


@st.composite
def queries(draw: st.DrawFn) -> SearchQuery:
    text, state = query_terms(draw(_TEXTS)), query_terms(draw(_TEXTS))
    around = {term: "goal" for term in state if term not in text}
    return SearchQuery(text, around, frozenset(text))


@given(
    documents(),
    queries(),
    st.integers(0, 12),
    st.lists(_COSINES, min_size=12, max_size=12),
    st.sampled_from([0.0, 0.4]),
    st.data(),
)
def test_ranking_in_two_steps_gives_the_same_as_in_one(
    texts: list[Document],
    query: SearchQuery,
    first: int,
    cosines: list[float | None],
    letters: float,
    data: st.DataObject,
) -> None:
    counts = {term: data.draw(st.integers(0, 90), label=term) for term in query.terms}
    statistics = CorpusStatistics(90, 6.0, counts)
    weights = RecallWeights(letters=letters)
    near = {f"a{at}": cosine for at, cosine in enumerate(cosines) if cosine is not None}
    early = term_matches(texts[:first], query, statistics, weights=weights)
    in_two = rank(texts, query, statistics, weights=weights, cosines=near, early=early)
    assert in_two == rank(texts, query, statistics, weights=weights, cosines=near)


@given(documents(), queries())
def test_what_a_text_holds_does_not_depend_on_the_others(
    texts: list[Document], query: SearchQuery
) -> None:
    statistics = CorpusStatistics(90, 6.0, dict.fromkeys(query.terms, 3))
    together = term_matches(texts, query, statistics)
    for document in texts:
        alone = term_matches([document], query, statistics)
        assert alone == {document.terms: together[document.terms]}


def test_a_text_without_a_word_of_the_question_has_no_letters() -> None:
    query = SearchQuery(query_terms("adoption"), {"cat": "goal"})
    texts = [Document(name, 0.0, index_terms(name)) for name in ("adopted", "adoption", "cat")]
    found = term_matches(texts, query, CorpusStatistics(90, 6.0, {}))
    held = {
        name: found[index_terms(name)].whole.letters is not None for name in ("adoption", "cat")
    }
    assert held == {"adoption": True, "cat": False}
