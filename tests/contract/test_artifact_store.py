"""What every ArtifactStore promises."""

from datetime import timedelta

import pytest

from acc_ace.core.schemas.artifact import Recall
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.storage.create_stores import Stores
from tests.contract.values import (
    KEY,
    OTHER_APP,
    OTHER_SESSION,
    OTHER_USER,
    artifact,
    asking,
    turn,
)
from tests.fakes.clock import START

LIBRARY = [
    ("checkout", "The checkout API answers 503 when db-01 runs out of connections."),
    ("rollback", "Roll back the deployment when more than 5% of the requests fail."),
    ("hosts", "The override for the staging cluster is in /etc/hosts on web-02."),
    ("oncall", "Questions about invoices go to aiko@example.com."),
    ("restart", "営業時間内は本番サーバーの再起動を禁止する。"),
    ("backup", "バックアップは毎晩２時に取得し、七日間保存します。"),
    ("mixed", "db-02 のレプリケーション遅延が30秒を超えたら、フェイルオーバーを検討する。"),
    ("lunch", "The canteen serves curry on Fridays."),
]


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


@pytest.fixture
async def library(stores: Stores) -> Stores:
    await stores.artifacts.add(
        [artifact(name, text, at=at) for at, (name, text) in enumerate(LIBRARY)]
    )
    return stores


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("why is checkout returning 503s?", "checkout"),
        ("Should we be rolling back the deploy?", "rollback"),
        ("what is in /etc/hosts", "hosts"),
        ("anything about web-02?", "hosts"),
        ("who is aiko@example.com", "oncall"),
        ("今から再起動してもいいですか？", "restart"),
        ("バックアップはいつ取っていますか", "backup"),
        ("ﾊﾞｯｸｱｯﾌﾟの保存期間は?", "backup"),
        ("db-02 の遅延", "mixed"),
        ("is DB-02 lagging?", "mixed"),
        ("DB\u200b-01 is down", "checkout"),
    ],
)
async def test_recall_finds_english_japanese_and_identifiers(
    library: Stores, text: str, best: str
) -> None:
    assert ids(await library.artifacts.recall(asking(text)))[0] == best


async def test_recall_of_what_nobody_mentioned_is_empty(library: Stores) -> None:
    assert ids(await library.artifacts.recall(asking("quantum chromodynamics"))) == []


@pytest.mark.parametrize(
    "text",
    ['"', "checkout AND NOT (503", "terms:*", "NEAR(checkout 503)", "^ * - + OR", "\x00", "", "。"],
)
async def test_text_of_users_is_never_query_syntax(library: Stores, text: str) -> None:
    found = ids(await library.artifacts.recall(asking(text)))
    assert set(found) <= {"checkout"}


async def test_state_terms_find_what_a_short_input_leaves_out(library: Stores) -> None:
    recall = await library.artifacts.recall(asking("do it", state_terms=["server:db-02"]))
    assert ids(recall)[0] == "mixed"
    assert recall.candidates[0].why == ["entity: server:db-02"]


async def test_state_terms_do_not_drown_the_input(library: Stores) -> None:
    state = ["server:db-01", "checkout API answers 503", "out of connections", "requests fail"]
    recall = await library.artifacts.recall(asking("curry in the canteen", state_terms=state))
    assert ids(recall)[0] == "lunch"
    assert "checkout" in ids(recall)


async def test_candidates_say_why_they_match(library: Stores) -> None:
    recall = await library.artifacts.recall(asking("checkout 503"))
    assert recall.candidates[0].why == ["words: checkout, 503"]


async def test_scores_fall_from_first_to_last(library: Stores) -> None:
    recall = await library.artifacts.recall(asking("db-01 db-02 checkout deployment 再起動"))
    scores = [candidate.score for candidate in recall.candidates]
    assert len(scores) >= 4
    assert scores == sorted(scores, reverse=True)


async def test_recall_is_bounded_by_limit(library: Stores) -> None:
    everything = " ".join(text for _, text in LIBRARY)
    assert len(ids(await library.artifacts.recall(asking(everything, limit=3)))) == 3


async def test_recall_is_bounded_by_tokens(stores: Stores) -> None:
    long = [artifact(f"a{n}", "restart ban " * 400, at=n) for n in range(6)]
    await stores.artifacts.add(long)
    recall = await stores.artifacts.recall(asking("restart ban", max_tokens=300))
    lengths = [estimate_tokens(item.artifact.content) for item in recall.candidates]
    assert len(lengths) == 6
    assert sum(lengths) <= 300


async def test_short_artifacts_stay_whole_beside_a_long_one(stores: Stores) -> None:
    short = "restart ban until Monday"
    await stores.artifacts.add([artifact("short", short), artifact("long", "restart " * 5_000)])
    recall = await stores.artifacts.recall(asking("restart ban", max_tokens=200))
    texts = {item.artifact.artifact_id: item.artifact.content for item in recall.candidates}
    assert texts["short"] == short
    assert estimate_tokens(texts["long"]) > 100


@pytest.mark.parametrize(
    ("reported", "asked"),
    [("The spare key is under the fern.", "spare key?"), ("合鍵は鉢の下にある。", "合鍵はどこ？")],
)
async def test_a_long_artifact_is_cut_to_the_part_that_matches(
    stores: Stores, reported: str, asked: str
) -> None:
    text = "Nothing of note. " * 300 + reported + " Nothing else. " * 300
    await stores.artifacts.add([artifact("long", text)])
    recall = await stores.artifacts.recall(asking(asked, excerpt_tokens=60))
    content = recall.candidates[0].artifact.content
    assert reported in content
    assert estimate_tokens(content) <= 60


async def test_the_previous_turn_is_always_a_candidate(library: Stores) -> None:
    await library.artifacts.add([turn(1, "first"), turn(2, "1. wait 2. fail over")])
    recall = await library.artifacts.recall(asking("do the second option you listed"))
    assert ids(recall) == ["s-1-t2"]
    assert recall.candidates[0].why == ["previous turn"]


async def test_the_previous_turn_takes_the_last_place_of_a_full_list(library: Stores) -> None:
    await library.artifacts.add([turn(1, "nothing in common")])
    recall = await library.artifacts.recall(asking("checkout deployment db-02", limit=2))
    assert len(ids(recall)) == 2
    assert "s-1-t1" in ids(recall)


async def test_the_previous_turn_survives_a_tiny_token_budget(library: Stores) -> None:
    await library.artifacts.add([turn(1, "word " * 1_000)])
    recall = await library.artifacts.recall(asking("checkout 503", max_tokens=20))
    assert ids(recall) == ["s-1-t1"]
    assert 0 < estimate_tokens(recall.candidates[0].artifact.content) <= 20


async def test_the_previous_turn_is_of_this_session_and_user(stores: Stores) -> None:
    await stores.artifacts.add(
        [turn(1, "mine"), turn(7, "elsewhere", key=OTHER_SESSION), turn(9, "b", key=OTHER_USER)]
    )
    assert ids(await stores.artifacts.recall(asking("?"))) == ["s-1-t1"]


@pytest.mark.parametrize("key", [OTHER_USER, OTHER_APP])
async def test_nobody_sees_artifacts_of_others(library: Stores, key: SessionKey) -> None:
    assert ids(await library.artifacts.recall(asking("checkout 503", key=key))) == []
    assert await library.artifacts.get(key.tenant, "checkout") is None
    assert await library.artifacts.count(key.tenant) == 0


async def test_the_same_id_belongs_to_each_tenant_alone(stores: Stores) -> None:
    await stores.artifacts.add(
        [artifact("x", "mine"), artifact("x", "theirs", tenant=OTHER_USER.tenant)]
    )
    mine = await stores.artifacts.get(KEY.tenant, "x")
    assert mine is not None
    assert mine.content == "mine"


async def test_an_artifact_comes_back_as_it_was_stored(stores: Stores) -> None:
    stored = artifact("full", "raw \u202etext\u200b, 生のまま\n", session="s-1", turn=3)
    await stores.artifacts.add([stored])
    assert await stores.artifacts.get(KEY.tenant, "full") == stored


async def test_a_known_id_is_replaced(stores: Stores) -> None:
    await stores.artifacts.add([artifact("x", "apples")])
    await stores.artifacts.add([artifact("x", "pears")])
    assert await stores.artifacts.count(KEY.tenant) == 1
    assert ids(await stores.artifacts.recall(asking("apples"))) == []
    assert ids(await stores.artifacts.recall(asking("pears"))) == ["x"]


async def test_retired_turns_are_hidden_but_kept(stores: Stores) -> None:
    await stores.artifacts.add([turn(n, f"checkout step {n}") for n in (1, 2, 3)])
    assert await stores.artifacts.retire(KEY, 1) == 2
    assert await stores.artifacts.retire(KEY, 1) == 0
    assert ids(await stores.artifacts.recall(asking("checkout step"))) == ["s-1-t1"]
    assert await stores.artifacts.count(KEY.tenant) == 3
    assert await stores.artifacts.get(KEY.tenant, "s-1-t3") is not None


async def test_retiring_touches_one_session(stores: Stores) -> None:
    await stores.artifacts.add([turn(5, "mine"), turn(5, "other", key=OTHER_SESSION)])
    await stores.artifacts.add([artifact("doc", "no session")])
    assert await stores.artifacts.retire(KEY, 0) == 1
    assert ids(await stores.artifacts.recall(asking("other", key=OTHER_SESSION))) == ["s-2-t5"]


async def test_expired_artifacts_are_returned_for_the_gate_to_judge(stores: Stores) -> None:
    await stores.artifacts.add([artifact("old", "checkout", expires_at=START)])
    assert ids(await stores.artifacts.recall(asking("checkout"))) == ["old"]


async def test_before_leaves_out_what_is_newer(stores: Stores) -> None:
    await stores.artifacts.add([artifact("old", "checkout"), artifact("new", "checkout", at=60)])
    query = asking("checkout", before=START + timedelta(seconds=30))
    assert ids(await stores.artifacts.recall(query)) == ["old"]


async def test_of_equal_matches_the_newest_is_first(stores: Stores) -> None:
    await stores.artifacts.add([artifact(f"a{n}", "checkout is slow", at=n) for n in range(4)])
    assert ids(await stores.artifacts.recall(asking("checkout"))) == ["a3", "a2", "a1", "a0"]


async def test_erasing_a_session_leaves_the_rest(stores: Stores) -> None:
    await stores.artifacts.add([turn(1, "a"), turn(1, "b", key=OTHER_SESSION), artifact("d", "c")])
    assert await stores.artifacts.erase(KEY.tenant, KEY.session) == 1
    assert await stores.artifacts.count(KEY.tenant) == 2


async def test_erasing_a_user_leaves_others(library: Stores) -> None:
    await library.artifacts.add([artifact("x", "checkout", tenant=OTHER_USER.tenant)])
    assert await library.artifacts.erase(KEY.tenant) == len(LIBRARY)
    assert ids(await library.artifacts.recall(asking("checkout"))) == []
    assert ids(await library.artifacts.recall(asking("checkout", key=OTHER_USER))) == ["x"]
    await library.artifacts.add([artifact("again", "checkout")])
    assert ids(await library.artifacts.recall(asking("checkout"))) == ["again"]


async def test_a_word_is_found_that_was_looked_for_before_anybody_said_it(stores: Stores) -> None:
    await stores.artifacts.add([artifact(f"n{n}", f"note {n}", at=n) for n in range(40)])
    assert ids(await stores.artifacts.recall(asking("Zanzibar"))) == []
    await stores.artifacts.add([artifact("trip", "We fly to Zanzibar.", at=50)])
    assert ids(await stores.artifacts.recall(asking("Zanzibar"))) == ["trip"]


async def test_an_old_rare_match_is_found_among_thousands(stores: Stores) -> None:
    await stores.artifacts.add([artifact("needle", "the vault code word is zanzibar")])
    for start in range(0, 3_000, 500):
        await stores.artifacts.add(
            [
                artifact(f"n{n}", f"the status code is fine {n}", at=n)
                for n in range(start, start + 500)
            ]
        )
    assert ids(await stores.artifacts.recall(asking("which code word, zanzibar?")))[0] == "needle"
    common = ids(await stores.artifacts.recall(asking("status", limit=5)))
    assert common == ["n2999", "n2998", "n2997", "n2996", "n2995"]
