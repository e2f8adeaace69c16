"""For any text: search terms are bounded, free of syntax, and find what was stored."""

import asyncio
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.schemas.artifact import Recall
from acc_ace.core.text.search_terms import (
    MAX_INDEX_TERMS,
    MAX_QUERY_TERMS,
    index_terms,
    query_terms,
)
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.memory.ranking import DEFAULT_WEIGHTS
from tests.contract.values import artifact, asking, turn
from tests.fakes.stores import InMemoryArtifactStore

_OWN = 1 + DEFAULT_WEIGHTS.state
_AROUND = 1 + DEFAULT_WEIGHTS.answer + DEFAULT_WEIGHTS.neighbour**2
_BEST = _OWN * _AROUND * (1 + DEFAULT_WEIGHTS.session) + DEFAULT_WEIGHTS.speaker
"""A perfect match of x_t and the state, with perfect neighbours, session and speaker."""

words = st.sampled_from(
    ["checkout", "db-01", "/etc/hosts", "再起動", "禁止", "OR", '"', "*", "don't", "the", "a@b.co"]
)
texts = st.one_of(st.text(max_size=80), st.lists(words, max_size=30).map(" ".join))


@given(texts)
def test_terms_hold_letters_and_digits_only(text: str) -> None:
    assert all(term.isalnum() for term in index_terms(text).split())
    assert all(term.isalnum() for term in query_terms(text))


@given(texts)
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text).split())


@given(st.lists(st.text(min_size=1, max_size=6), max_size=200).map(" ".join))
def test_queries_and_index_entries_are_bounded(text: str) -> None:
    assert len(query_terms(text)) <= MAX_QUERY_TERMS
    assert len(index_terms(text).split()) <= MAX_INDEX_TERMS


@given(
    st.lists(texts, max_size=8),
    texts,
    st.lists(texts, max_size=4),
    st.integers(1, 5),
    st.integers(1, 200),
)
def test_recall_keeps_its_bounds_and_the_previous_turn(
    stored: list[str], text: str, state: list[str], limit: int, max_tokens: int
) -> None:
    async def recall() -> Recall:
        store = InMemoryArtifactStore()
        await store.add([artifact(f"a{at}", content) for at, content in enumerate(stored)])
        await store.add([turn(1, "the previous turn")])
        return await store.recall(
            asking(text, state_terms=state, limit=limit, max_tokens=max_tokens)
        )

    found = asyncio.run(recall()).candidates
    assert len(found) <= limit
    assert sum(estimate_tokens(item.artifact.content) for item in found) <= max_tokens
    assert "s-1-t1" in {item.artifact.artifact_id for item in found}
    assert all(better.score >= worse.score for better, worse in pairwise(found))
    assert all(0 <= item.score <= _BEST for item in found)


@pytest.mark.soak
def test_no_character_at_all_becomes_a_term_that_is_no_letter_or_digit() -> None:
    for begin in range(0, sys.maxunicode, 4_096):
        block = (chr(code) for code in range(begin, begin + 4_096))
        text = " ".join(f"a{one}b あ{one}い {one}{one}" for one in block)
        assert all(term.isalnum() for term in index_terms(text).split())
