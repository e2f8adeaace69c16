"""The trained reader: a second opinion on what a sentence of a user is."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.rules.reader import (
    WEIGHTS,
    SentenceReading,
    TrainedReader,
    knows,
    read_sentence,
)
from bench.rules_reader import examples, held_out, reader_file

_DATA = Path(__file__).parents[2] / "data" / "reader"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DATA / name).read_text("utf-8").splitlines()]


def _clear(language: str, label: str) -> list[SentenceReading]:
    return [
        read_sentence(row["text"])
        for row in _rows("clear.jsonl")
        if (row["lang"], row["label"]) == (language, label)
    ]


@given(st.text(max_size=1_200))
def test_any_text_has_three_probabilities(text: str) -> None:
    reading = read_sentence(text)
    assert all(0 <= odds <= 1 for odds in reading[:3])
    assert TrainedReader.parse(WEIGHTS.read_bytes()).read(text) == reading


@given(st.text(max_size=80))
def test_what_is_surer_is_also_what_is_less_sure(text: str) -> None:
    reading = read_sentence(text)
    names = [
        reading.reaches("very_sure"),
        reading.reaches("sure"),
        reading.reaches("half"),
        reading.reaches("suspect"),
    ]
    assert names == sorted(names)
    assert reading.loosens_though_believed <= reading.loosens_alone
    assert not (reading.reaches("half") and reading.is_certainly_none)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_plain_rules_are_read_as_rules(language: str) -> None:
    readings = _clear(language, "binds")
    assert sum(reading.reaches("sure") for reading in readings) >= 0.7 * len(readings)
    assert all(reading.reaches("suspect") for reading in readings)
    assert not any(reading.is_certainly_none for reading in readings)
    assert not any(reading.loosens_alone for reading in readings)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_plain_permissions_and_releases_are_read_as_loosening(language: str) -> None:
    readings = _clear(language, "loosens")
    assert all(reading.loosens_alone for reading in readings)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_plain_goals_are_read_as_goals(language: str) -> None:
    assert all(reading.goal > 0.5 > reading.binds for reading in _clear(language, "goal"))


@pytest.mark.parametrize("language", ["en", "ja"])
def test_questions_facts_and_orders_for_once_are_no_rules(language: str) -> None:
    readings = _clear(language, "none")
    assert not any(reading.reaches("sure") for reading in readings)
    assert sum(reading.is_certainly_none for reading in readings) >= 0.8 * len(readings)


LEADS = {
    "en": ["By the way, ", "One more thing - ", "After 6 pm: ", "Hi team, before I forget: "],
    "ja": ["ちなみに、", "18時以降：", "お手数ですが、", "すみません、言い忘れましたが、"],
}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_lead_in_hides_no_rule_and_makes_none(language: str) -> None:
    for row in (row for row in _rows("clear.jsonl") if row["lang"] == language):
        plain = read_sentence(row["text"])
        for lead in LEADS[language]:
            behind = read_sentence(lead + row["text"])
            assert behind.binds >= plain.binds
            assert not (row["label"] == "none" and behind.reaches("sure"))


def test_what_somebody_said_is_not_read_without_who_said_it() -> None:
    assert read_sentence("Never restart db-01.").reaches("sure")
    assert not read_sentence("The runbook said: never restart db-01.").reaches("suspect")


@pytest.mark.parametrize("row", _rows("languages.jsonl"), ids=lambda row: row["text"])
def test_a_text_in_a_language_of_nobodys_training_is_told_apart(row: dict[str, Any]) -> None:
    assert knows(row["text"]) is row["known"]


def test_the_weights_are_at_most_a_megabyte() -> None:
    assert WEIGHTS.stat().st_size <= 1_000_000


def test_training_twice_writes_the_same_file_and_it_reads_what_it_learnt(tmp_path: Path) -> None:
    path = tmp_path / "small.jsonl"
    path.write_text("\n".join(map(json.dumps, _small())), "utf-8")
    learnt = examples([path])
    first, second = (reader_file(learnt, held_out(learnt)) for _ in range(2))
    assert first == second
    reader = TrainedReader.parse(first)
    assert len(first.partition(b"\n")[2]) == len(WEIGHTS.read_bytes().partition(b"\n")[2])
    assert all((reader.read(one.text).binds > 0.5) is one.targets[0] for one in learnt)


def _small() -> list[dict[str, object]]:
    """Two hands, each with three messages of each label in both languages."""
    plain = {
        "en": {
            "binds": ["Never open the gate.", "Never paint the wall.", "Never sell the boat."],
            "permits": ["You may open the gate.", "You may paint it.", "You may sell the boat."],
            "goal": ["The goal is a gate.", "The goal is a wall.", "The goal is a boat."],
            "": ["Who opened the gate?", "Who painted the wall?", "Who sold the boat?"],
        },
        "ja": {
            "binds": ["門を開けないで。", "壁を塗らないで。", "船を売らないで。"],
            "permits": ["門を開けていいよ。", "壁を塗っていいよ。", "船を売っていいよ。"],
            "goal": ["目標は門です。", "目標は壁です。", "目標は船です。"],
            "": ["誰が門を開けたの？", "誰が壁を塗ったの？", "誰が船を売ったの？"],
        },
    }
    return [
        {
            "id": f"{hand}-{language}-{label}-{at}",
            "lang": language,
            "text": text,
            "spans": [{"quote": text, "label": label}] if label else [],
        }
        for hand in "xy"
        for language, labels in plain.items()
        for label, texts in labels.items()
        for at, text in enumerate(texts)
    ]
