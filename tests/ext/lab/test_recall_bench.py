"""The recall bench reads both formats, and counts what it says it counts."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from acc_ace.errors import InputError
from bench.ops_corpus import operations_talk
from bench.recall.contenders import FUSED, OURS
from bench.recall.corpus import START, Question, read_corpora
from bench.recall.scoring import bench_recall, evidence_share, percentile, table
from tests.fakes.word_embedder import TopicEmbedder

DIALOGUE = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Mina",
        "speaker_b": "Otto",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Mina", "dia_id": "D1:1", "text": "I adopted a grey cat called Fog."},
            {"speaker": "Otto", "dia_id": "D1:2", "text": "Lovely! I bought a sailing boat."},
        ],
        "session_2": [
            {
                "speaker": "Otto",
                "dia_id": "D2:1",
                "text": "The boat leaks.",
                "blip_caption": "a hull",
            }
        ],
    },
    "qa": [
        {"question": "What did Mina adopt?", "evidence": ["D1:1"], "category": 4},
        {"question": "Which boat leaks?", "evidence": ["D2:1; D1:2"], "category": 1},
        {"question": "Which dog did Otto adopt?", "evidence": ["D1:1"], "category": 5},
        {"question": "Without evidence?", "evidence": ["D"], "category": 4},
    ],
}
ARTICLES = {
    "data": [
        {
            "title": "灯台",
            "paragraphs": [
                {"context": "灯台は岬の上に建っている。", "qas": [{"question": "灯台はどこに？"}]},
                {"context": "漁港は湾の奥にある。", "qas": [{"question": "漁港はどこに？"}]},
            ],
        }
    ]
}


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    path = tmp_path / "dialogues.json"
    path.write_text(json.dumps([DIALOGUE]), encoding="utf-8")
    return path


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    path = tmp_path / "articles.json"
    path.write_text(json.dumps(ARTICLES), encoding="utf-8")
    return path


def test_a_dialogue_becomes_turns_in_sessions(dialogues: Path) -> None:
    (corpus,) = read_corpora(dialogues)
    places = [(p.passage_id, p.session, p.turn) for p in corpus.passages]
    assert places == [("D1:1", "1", 1), ("D1:2", "1", 2), ("D2:1", "2", 1)]
    assert corpus.passages[2].text == "Otto: The boat leaks. [shares a picture: a hull]"


def test_turns_are_of_the_time_of_their_session_and_without_one_keep_their_order(
    dialogues: Path,
) -> None:
    (corpus,) = read_corpora(dialogues)
    first, second, undated = corpus.passages
    assert first.created_at == datetime(2023, 5, 8, 13, 57, tzinfo=UTC)
    assert second.created_at - first.created_at == timedelta(minutes=1)
    assert undated.created_at == START + timedelta(minutes=undated.position)
    assert corpus.asked_at > max(passage.created_at for passage in corpus.passages)


def test_questions_without_known_evidence_are_left_out(dialogues: Path) -> None:
    (corpus,) = read_corpora(dialogues)
    assert [question.category for question in corpus.questions] == [
        "single-hop",
        "multi-hop",
        "adversarial",
    ]
    assert corpus.questions[1].evidence == {"D1:2", "D2:1"}


def test_the_limit_counts_questions_of_each_corpus(dialogues: Path) -> None:
    assert [len(corpus.questions) for corpus in read_corpora(dialogues, limit=1)] == [1]


async def test_every_contender_is_scored_on_the_same_questions(dialogues: Path) -> None:
    scores = await bench_recall(dialogues)
    assert [score.timing.contender for score in scores] == [OURS, "adk-in-memory", "adk-sqlite"]
    assert {tuple((row.category, row.questions) for row in score.rows) for score in scores} == {
        (("all", 2), ("multi-hop", 1), ("single-hop", 1), ("adversarial", 1))
    }
    assert scores[0].rows[0].recall == {5: 1.0, 10: 1.0, 20: 1.0}


async def test_with_an_embedder_ours_is_scored_by_words_and_fused(dialogues: Path) -> None:
    embedder = TopicEmbedder()
    scores = await bench_recall(dialogues, embedder=embedder)
    assert [score.timing.contender for score in scores][:2] == [OURS, FUSED]
    assert "Mina: I adopted a grey cat called Fog." in embedder.embedded
    assert "What did Mina adopt?" in embedder.asked


async def test_a_made_up_corpus_is_the_same_each_time_and_its_evidence_is_there(
    tmp_path: Path,
) -> None:
    first, second = (operations_talk(dialogues=1, sessions=3, seed=1) for _ in range(2))
    assert first == second
    path = tmp_path / "ops.json"
    path.write_text(json.dumps(first), encoding="utf-8")
    corpora = read_corpora(path)
    assert [len(corpus.questions) for corpus in corpora] == [39, 39]
    for corpus in corpora:
        known = {passage.passage_id for passage in corpus.passages}
        assert all(question.evidence <= known for question in corpus.questions)


async def test_japanese_paragraphs_are_found(articles: Path) -> None:
    ours = (await bench_recall(articles))[0]
    assert ours.rows[0].recall[5] == 1.0


async def test_the_table_has_a_line_for_each_category_and_contender(dialogues: Path) -> None:
    lines = table(await bench_recall(dialogues)).splitlines()
    assert sum(line.startswith("adversarial") for line in lines) == 3
    assert lines[0].split() == ["category", "contender", "n", *(f"recall@{k}" for k in (5, 10, 20))]


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", '{"data": 3}', '[{"qa": []}]', "\x00"])
def test_another_format_is_named_as_such(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"odd\.json is neither"):
        read_corpora(path)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"data": [{"paragraphs": [{"context": 5, "qas": [{"question": "x?"}]}]}]}',
        '{"data": [{"paragraphs": [{"context": "abc", "qas": [{"question": 5}]}]}]}',
        '{"data": [{"paragraphs": [{"context": "a\\ud800b", "qas": [{"question": "x?"}]}]}]}',
        json.dumps([{**DIALOGUE, "qa": [{"question": 5, "evidence": ["D1:1"], "category": 4}]}]),
        json.dumps(DIALOGUE).replace('"D1:2", "text"', '"D1:1", "text"').join("[]"),
        json.dumps(DIALOGUE).replace('"I adopted a grey cat called Fog."', "7").join("[]"),
    ],
)
def test_a_field_of_another_kind_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"odd\.json is neither"):
        read_corpora(path)


def test_a_file_that_asks_nothing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mute.json"
    path.write_text('{"data": []}', encoding="utf-8")
    with pytest.raises(InputError, match=r"mute\.json has no question"):
        read_corpora(path)


@pytest.mark.parametrize("names", [(None, None), ("same", "same")])
async def test_dialogues_of_one_name_or_none_are_kept_apart(
    tmp_path: Path, names: tuple[str | None, str | None]
) -> None:
    path = tmp_path / "two.json"
    talks = [about("alpha", names[0]), about("beta", names[1])]
    path.write_text(json.dumps(talks), encoding="utf-8")
    for scored in await bench_recall(path):
        assert scored.rows[0].recall[5] == 1.0


def about(topic: str, name: str | None) -> dict[str, object]:
    said = [{"dia_id": f"D1:{n}", "speaker": "A", "text": f"{topic} {topic}{n}"} for n in range(5)]
    asked = [
        {"question": f"What of {topic}{n}?", "evidence": [f"D1:{n}"], "category": 4}
        for n in range(5)
    ]
    named = {} if name is None else {"sample_id": name}
    return {"conversation": {"session_1": said}, "qa": asked, **named}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.json cannot be read: No such file"):
        read_corpora(tmp_path / "gone.json")


def test_the_share_of_evidence_grows_with_depth() -> None:
    question = Question("?", frozenset({"a", "z"}), "multi-hop")
    found = ["a", *"bcdefghijk", "z"]
    assert evidence_share(question, found) == {5: 0.5, 10: 0.5, 20: 1.0}


def test_percentiles_are_of_the_sorted_values() -> None:
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([], 0.5) == 0
