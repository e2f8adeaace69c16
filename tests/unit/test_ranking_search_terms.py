"""How texts are cut into search terms."""

import pytest

from acc_ace.core.text.search_terms import MAX_QUERY_TERMS, index_terms, query_terms
from acc_ace.core.text.stemmer import stem
from tests.fakes.tables import each_case


@each_case
def test_a_text_is_cut_into_terms(text: str, terms: str) -> None:
    assert index_terms(text) == terms


@each_case
def test_queries_leave_out_what_every_text_has(text: str, terms: list[str]) -> None:
    assert list(query_terms(text)) == terms


def test_a_query_term_remembers_the_word_it_came_from() -> None:
    assert query_terms("Deployments of DB-01")["db01"] == "db-01"


def test_a_long_query_keeps_identifiers_and_what_it_repeats() -> None:
    filler = " ".join(f"{a}{b}xyz" for a in "bcdfg" for b in "hjklmnpqr")
    chosen = list(query_terms(f"{filler} payment payment payment ERR_42"))
    assert len(chosen) == MAX_QUERY_TERMS
    assert {"err42", "42", "payment"} <= set(chosen)


@pytest.mark.parametrize(
    "family",
    [
        ["restart", "restarts", "restarted", "restarting"],
        ["deploy", "deploys", "deployed", "deployment", "deployments"],
        ["policy", "policies"],
        ["fail", "fails", "failed", "failing"],
        ["stop", "stopped", "stopping"],
        ["database", "databases"],
        ["migrate", "migrates", "migrated", "migrating"],
        ["503", "503s"],
    ],
)
def test_forms_of_a_word_share_a_stem(family: list[str]) -> None:
    assert len({stem(word) for word in family}) == 1


@each_case
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)
