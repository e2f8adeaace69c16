"""How texts are cut into search terms."""

import pytest

from acc_ace.text.search_terms import MAX_QUERY_TERMS, index_terms, query_terms
from acc_ace.text.stemmer import stem


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The servers restarted", "the server restart"),
        ("server:db-01", "serverdb01 server db01 db 01"),
        ("ERR_42", "err42 err 42"),
        ("/etc/hosts.", "etchosts etc host"),
        ("ops@example.com", "opsexamplecom op examplecom exampl com"),
        ("don't, it's", "dont it"),
        ("再起動禁止", "再起 起動 動禁 禁止 再 起 動 禁 止"),
        ("db-01を再起動", "db01 db 01 を再 再起 起動 再 起 動"),
        ("ﾊﾞｯｸ ＡＰＩ", "バッ ック api"),
        ("Café ze\u200bro \u202eabc", "cafe zero abc"),
        ("", ""),
        ("…!?\u200b", ""),
    ],
)
def test_a_text_is_cut_into_terms(text: str, terms: str) -> None:
    assert index_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("what is the status of it", ["status"]),
        ("それを再起動してもいいですか", ["再起", "起動", "動し", "再", "起", "動"]),
        ("猫が好き", ["好き", "猫", "好"]),
        ("水", ["水"]),
        ("りんご", ["りん", "んご"]),
        ("do it", []),
    ],
)
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


@pytest.mark.parametrize(("one", "other"), [("bus", "bu"), ("state", "station"), ("thing", "th")])
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)
