"""Contradictions, labelled by hand: which lessons exclude each other, and what becomes of them."""

from datetime import UTC, datetime

import pytest

from acc_ace.core.playbook.curation.delta_guard import Curated, CurationContext, curate
from acc_ace.core.text.duplicates import contrary, lesson_of
from schemas.delta import DeltaBatch, DeltaOperation, DeltaStatus, DeltaType
from schemas.limits import Limits
from schemas.playbook import Playbook
from tests.fakes.pinned import pinned

CONTEXT = CurationContext(
    limits=Limits(),
    at=datetime(2026, 1, 2, tzinfo=UTC),
    user="aiko",
    session="s-1",
    turn=7,
    grounded=True,
)
HELD = DeltaStatus.HELD

CONTRARY = [
    ("Always check the logs before a restart", "Never check the logs before a restart"),
    ("Always restart at night.", "You must not restart at night"),
    ("Before restarting, always check the logs", "Do not check the logs before a restart"),
    ("Use a timeout of 30 seconds", "Set the timeout to 60 seconds"),
    ("timeout 30s", "timeout 60s"),
    ("timeout=30", "Use a timeout of 60"),
    ("Wait 1 minute before retrying", "Wait 90 seconds before retrying"),
    ("Retry failed calls 3 times", "Retry failed calls 5 times"),
    ("Enable the cache for reports", "Disable the cache for reports"),
    ("Open the ticket with the customer", "Open the ticket without the customer"),
    ("Turn on the alarm", "Turn off the alarm"),
    ("Turn the alarm on at night", "Turn the alarm off at night"),
    ("Avoid caching reports", "Always cache reports"),
    ("Restarting during business hours is forbidden", "Restart during business hours"),
    ("Show prices including tax", "Show prices excluding tax"),
    ("Quote prices with tax", "Never quote prices with tax"),
    ("Reject orders over 100 dollars", "Accept orders over 100 dollars"),
    ("予約が必要", "予約が不要"),
    ("営業時間内は再起動禁止", "営業時間内に再起動する"),
    ("必ずログを確認する", "ログを確認しないでください"),
    ("タイムアウトは30秒にする", "タイムアウトは60秒にする"),
    ("再試行は3回まで", "再試行は5回まで"),
    ("キャッシュを有効にする", "キャッシュを無効にする"),
    ("夜間に再起動してよい", "夜間に再起動してはいけない"),
    ("APIを使う", "APIを使わない"),
    ("通知をオンにする", "通知をオフにする"),
    ("個人情報をログに書かない", "個人情報をログに書く"),
]
COMPATIBLE = [
    ("Deploy to staging", "Deploy to production"),
    ("Write drivers in C", "Write drivers in C++"),
    ("Use a timeout of 60 seconds", "Set the timeout to 1 minute"),
    ("Wait 1,000 ms between calls", "Wait 1 second between calls"),
    ("Use a timeout of 30 seconds for the API", "Use a timeout of 60 seconds for the database"),
    ("Lesson 1 of worker 2", "Lesson 2 of worker 3"),
    ("Use Python 3", "Use Python 2"),
    ("Restart db-01 first", "Restart db-02 first"),
    ("Step 1: read the file", "Step 2: read the file"),
    ("If the test passes, deploy", "If the test does not pass, deploy"),
    ("If the test passes, do not deploy", "If the test does not pass, deploy"),
    ("Always validate input", "Never validate input from trusted sources"),
    ("Check logs before restarting", "Check logs after restarting"),
    ("Never restart at night", "Do not restart at night"),
    ("Do not avoid the review", "Do the review"),
    ("Send at least 3 messages", "Send at most 5 messages"),
    ("Retry 3 times on timeouts", "Retry 5 times on rate limits"),
    ("Never wait more than 30 seconds", "Wait more than 60 seconds"),
    ("Confirm the order number", "Confirm the delivery date"),
    ("Escalate within 2 hours", "Reply within 5 minutes"),
    ("Not every failure is a bug", "Every failure is logged"),
    ("キャッシュが温まっていない場合は待つ", "キャッシュが温まっている場合は待つ"),
    ("AからBへ移す", "BからAへ移す"),
    ("タイムアウトは60秒にする", "タイムアウトは1分にする"),
    ("第1章を読む", "第2章を読む"),
    ("障害時は3回再試行する", "遅延時は5回再試行する"),
    ("ログを確認する", "設定を確認しない"),
    ("営業時間内は再起動禁止", "営業時間内は再起動しないでください"),
]


def _playbook(*contents: str) -> Playbook:
    draft = Playbook().draft()
    for content in contents:
        draft.add("s", content, bullet_id=None, at=CONTEXT.at)
    return Playbook().with_draft(draft)


def _curate(playbook: Playbook, *operations: DeltaOperation) -> Curated:
    return curate(playbook, DeltaBatch(operations=list(operations)), CONTEXT)


def _add(content: str) -> DeltaOperation:
    return DeltaOperation(type=DeltaType.ADD, content=content)


def _end(curated: Curated) -> tuple[DeltaStatus, str]:
    return curated.results[-1].status, curated.results[-1].reason


@pytest.mark.parametrize(("one", "other"), CONTRARY)
def test_contrary_lessons_exclude_each_other_and_the_second_is_held(one: str, other: str) -> None:
    assert contrary(lesson_of(one), lesson_of(other))
    assert contrary(lesson_of(other), lesson_of(one))
    playbook = _playbook(one)

    curated = _curate(playbook, _add(other))

    assert _end(curated) == (HELD, "contradiction")
    assert curated.playbook == playbook
    assert curated.records[0].operation == DeltaOperation(type=DeltaType.ADD, content=other)


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_lessons_that_can_both_be_followed_do_not(one: str, other: str) -> None:
    assert not contrary(lesson_of(one), lesson_of(other))
    assert not contrary(lesson_of(other), lesson_of(one))

    assert _end(_curate(_playbook(one), _add(other)))[0] is DeltaStatus.APPLIED


def test_the_contrary_of_a_pinned_bullet_is_held_under_a_reason_of_its_own() -> None:
    playbook = pinned(_playbook("Always restart at night"), "b-00001")

    assert _end(_curate(playbook, _add("Never restart at night"))) == (HELD, "contradiction_pinned")


def test_a_bullet_may_be_turned_into_its_own_contrary_but_not_into_that_of_another() -> None:
    playbook = _playbook("Always restart at night", "Ask for the order number")
    own = DeltaOperation(
        type=DeltaType.UPDATE, bullet_id="b-00001", content="Never restart at night"
    )
    other = own.model_copy(update={"bullet_id": "b-00002"})

    assert _end(_curate(playbook, own)) == (DeltaStatus.APPLIED, "ok")
    assert _end(_curate(playbook, other)) == (HELD, "contradiction")


def test_contrary_bullets_are_never_merged() -> None:
    playbook = _playbook("Turn on the alarm", "Ask first", "Turn off the alarm")
    merge = DeltaOperation(
        type=DeltaType.MERGE, bullet_id="b-00002", source_ids=["b-00001", "b-00003"]
    )

    curated = _curate(playbook, merge)

    assert _end(curated) == (HELD, "contradiction")
    assert curated.playbook == playbook


def test_a_contradiction_within_one_batch_is_held_and_gone_when_the_first_is_removed() -> None:
    curated = _curate(
        Playbook(),
        _add("Turn on the alarm"),
        _add("Turn off the alarm"),
        DeltaOperation(type=DeltaType.REMOVE, bullet_id="b-00001"),
        _add("Turn off the alarm"),
    )

    assert [result.reason for result in curated.results] == ["ok", "contradiction", "ok", "ok"]
