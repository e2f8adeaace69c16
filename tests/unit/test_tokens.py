"""Tokens are counted near enough to a tokenizer of current models for budgets to mean the same."""

import json
from collections import defaultdict
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.tokens import clip_tokens, estimate_tokens

ROWS = Path(__file__).parent.parent / "data" / "token_counts.json"
"""Texts of this repository, each with its tokens by o200k_base."""


def test_each_kind_of_text_is_counted_within_an_eighth_of_o200k_base() -> None:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in json.loads(ROWS.read_text(encoding="utf-8")):
        sums[row["kind"]][0] += estimate_tokens(row["text"])
        sums[row["kind"]][1] += row["tokens"]
    shares = {kind: own / real for kind, (own, real) in sums.items()}
    assert len(shares) == 7
    assert {kind: share for kind, share in shares.items() if abs(share - 1) > 1 / 8} == {}


@given(st.text(max_size=200), st.text(max_size=200))
def test_lines_count_as_much_together_as_apart(before: str, after: str) -> None:
    whole = estimate_tokens(f"{before}\n{after}")
    assert whole == estimate_tokens(before) + estimate_tokens(after)


@given(st.text(max_size=200), st.integers(0, 60))
def test_what_is_cut_to_a_budget_is_within_it(text: str, budget: int) -> None:
    assert estimate_tokens(clip_tokens(text, budget)) <= budget
