"""The labelled sentences keep the detectors at their goals."""

import pytest

from bench.rule_detection import Score, asked, read, score_changes, score_rules, states_a_rule


@pytest.mark.parametrize("half", ["dev", "test"])
def test_rules_are_found_with_precision_090_and_recall_080(half: str) -> None:
    score = score_rules(half, flag=states_a_rule)
    assert score.precision >= 0.9, score
    assert score.recall >= 0.8, score


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_each_language_meets_the_goals_on_the_test_half(lang: str) -> None:
    score = score_rules("test", lang=lang, flag=states_a_rule)
    assert score.precision >= 0.9, score
    assert score.recall >= 0.8, score


@pytest.mark.parametrize("half", ["dev", "test"])
def test_releases_are_found_with_precision_097_and_recall_080(half: str) -> None:
    score = score_changes(half, reading=read)
    assert score.precision >= 0.97, score
    assert score.recall >= 0.8, score


@pytest.mark.parametrize("half", ["dev", "test"])
def test_nearly_every_change_is_asked_about(half: str) -> None:
    score = score_changes(half, reading=asked)
    assert score.recall >= 0.9, score


def test_no_flag_counts_as_precise_and_nothing_to_find_as_complete() -> None:
    assert Score("empty", found=0, false=0, missed=0).precision == 1.0
    assert Score("empty", found=0, false=0, missed=0).recall == 1.0
