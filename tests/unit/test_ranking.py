"""How artifacts are ordered, and how a shortlist is cut to its budget."""

from acc_ace.core.text.search_terms import index_terms, query_terms
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.memory.priors import TurnPosition
from acc_ace.memory.ranking import (
    ANY_DOCUMENT,
    PREVIOUS_TURN,
    CorpusStatistics,
    Document,
    Ranked,
    SearchQuery,
    fit,
    rank,
    shortlist,
)
from tests.contract.values import artifact

STATISTICS = CorpusStatistics(1_000, 8.0, {"rare": 1, "common": 900})


def document(name: str, text: str, *, at: float = 0.0) -> Document:
    return Document(name, at, index_terms(text))


def ordered(text: str, *documents: Document, state: str = "") -> list[str]:
    query = SearchQuery(query_terms(text), dict.fromkeys(query_terms(state), state))
    return [item.artifact_id for item in rank(documents, query, STATISTICS)]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    documents = document("a", "common thing"), document("b", "rare thing")
    assert ordered("rare common", *documents) == ["b", "a"]


def test_more_of_the_query_is_better() -> None:
    documents = document("one", "checkout slow today"), document("two", "checkout database slow")
    assert ordered("checkout database slow", *documents) == ["two", "one"]


def test_a_word_said_often_does_not_win_over_two_words() -> None:
    documents = document("often", "checkout " * 50), document("both", "checkout and database")
    assert ordered("checkout database", *documents) == ["both", "often"]


def test_a_short_text_wins_over_a_long_one() -> None:
    documents = document("long", "rare " + "filler " * 200), document("short", "rare words")
    assert ordered("rare", *documents) == ["short", "long"]


def test_any_number_of_state_terms_cannot_outvote_a_clear_match() -> None:
    state = " ".join(f"topic{n}" for n in range(30))
    documents = document("state", state), document("asked", "rare words")
    assert ordered("rare words", *documents, state=state) == ["asked", "state"]


def test_state_terms_break_a_tie_of_the_input() -> None:
    documents = document("a", "restart web now"), document("b", "restart queue now")
    assert ordered("restart", *documents, state="queue") == ["b", "a"]


def test_of_the_state_what_is_named_first_counts_most() -> None:
    documents = document("a", "restart queue now", at=1.0), document("b", "restart web now")
    assert ordered("restart", *documents, state="web queue") == ["b", "a"]
    assert ordered("restart", *documents, state="queue web") == ["a", "b"]


def test_equal_scores_are_ordered_by_age_then_id() -> None:
    documents = [document("b", "rare"), document("a", "rare"), document("new", "rare", at=9)]
    assert ordered("rare", *documents) == ["new", "a", "b"]
    assert ordered("rare", *reversed(documents)) == ["new", "a", "b"]


def test_a_part_of_a_word_is_not_a_match() -> None:
    assert ordered("rare", document("a", "rarebit hare")) == []


def test_a_previous_turn_that_matches_keeps_its_place_and_reasons() -> None:
    ranked = [Ranked("a", 0, 0.9, ["words: x"]), Ranked("b", 0, 0.5, [])]
    listed = shortlist(ranked, Document("a", 0, ""), limit=8, max_tokens=4_000)
    assert listed == [Ranked("a", 0, 0.9, ["words: x", PREVIOUS_TURN]), ranked[1]]


def test_the_budget_is_shared_so_that_only_long_ones_are_cut() -> None:
    texts = {"a": "word " * 10, "b": "word " * 500, "c": "word " * 900}
    ranked = [Ranked(name, 0, 1.0, []) for name in texts]
    artifacts = {name: artifact(name, text.strip()) for name, text in texts.items()}
    fitted = fit(ranked, artifacts, max_tokens=210)
    assert [estimate_tokens(item.artifact.content) for item in fitted] == [10, 100, 100]


def fused(text: str, cosines: dict[str, float], *documents: Document, state: str = "") -> list[str]:
    query = SearchQuery(query_terms(text), dict.fromkeys(query_terms(state), state))
    ranked = rank(documents, query, STATISTICS, cosines=cosines)
    return [item.artifact_id for item in ranked]


def test_what_is_nearest_in_meaning_comes_before_a_common_word() -> None:
    documents = document("words", "common thing"), document("meaning", "another subject")
    assert fused("common rare", {"words": 0.0, "meaning": 0.6}, *documents)[0] == "meaning"


def test_a_match_in_words_and_meaning_comes_first() -> None:
    documents = document("both", "rare thing"), document("words", "rare"), document("near", "x")
    cosines = {"both": 0.55, "words": -0.1, "near": 0.6}
    assert fused("rare", cosines, *documents)[0] == "both"


def test_the_state_decides_between_texts_that_are_about_as_near() -> None:
    documents = [document(f"d{n}", f"disk of server{n} replaced") for n in range(3)]
    documents.append(document("far", "lunch"))
    cosines = {"d0": 0.52, "d1": 0.5, "d2": 0.51, "far": -0.2}
    assert fused("replaced disk", cosines, *documents, state="server1")[0] == "d1"
    assert fused("replaced disk server2", cosines, *documents, state="server1")[0] == "d2"


def test_parts_of_a_document_stand_for_themselves() -> None:
    def beside(prefix: str) -> list[str]:
        texts = ("the flange fits", "tighten it by hand")
        documents = [
            document(f"{prefix}{number}", text)._replace(place=TurnPosition("manual", number))
            for number, text in enumerate(texts)
        ]
        return ordered("which flange", *documents)

    assert beside("turn:") == ["turn:0", "turn:1"]
    assert beside(ANY_DOCUMENT) == [f"{ANY_DOCUMENT}0"]


def test_japanese_is_not_searched_for_the_words_it_asks_with() -> None:
    assert set(query_terms("担当は誰ですか、何時ですか")) == {"担当", "担", "当", "時"}
