"""What two lessons may differ in and be one, and what keeps them apart."""

import pytest

from acc_ace.core.text.duplicates import lesson_of, same

ONE = [
    ("Never refund.", "Don't refund!"),
    ("Wait 1 minute.", "Wait 60 seconds."),
    ("Keep 10,000 rows.", "Keep 10000 rows"),
    ("Mask the last four digits", "Mask the last 4 digits"),
    ("Delete old backups.", "Please remove the old backup."),
    ("Backups must be encrypted.", "Encrypt the backups."),
    ("Backups must not be deleted.", "Never delete backups."),
    ("Deploying on Fridays is forbidden.", "Never deploy on Fridays."),
    ("If the disk is full, stop.", "Stop if the disk is full."),
    ("Before deploying, run the tests.", "Run tests before deploying."),
    ("Turn off the alarm.", "Turn the alarm off."),
    ("Use a timeout of 30 s for uploads", "Set the timeout to 30 seconds for uploads"),
    ("必ずログを確認する。", "ログを確認してください"),
    ("夜間にバックアップを削除する。", "バックアップを夜間に削除してください。"),
    ("ログの確認を行う。", "ログの確認を実施してください。"),
    ("再起動は禁止。", "再起動しないでください。"),
    ("最初に番号を聞く。", "まず番号を尋ねる。"),
]
APART = [
    ("Refund if the parcel was opened.", "Refund unless the parcel was opened."),
    ("If X is down, only retry.", "Only retry if X is down."),
    ("When asked, tell users that it failed.", "Tell users that it failed when asked."),
    ("After lunch, cancel meetings.", "Cancel meetings after lunch."),
    ("All reports must not be sent.", "Do not send all reports."),
    ("Restarting all hosts is forbidden.", "Never restart all hosts."),
    ("Never remember passwords.", "No passwords."),
    ("No reports must be sent.", "Reports must be sent."),
    ("Do not always deploy.", "Do not deploy."),
    ("You need not restart.", "Do not restart."),
    ("May restart.", "Restart."),
    ("Ship from A to B.", "Ship from B to A."),
    ("x > 5", "x >= 5"),
    ("git branch -d old", "git branch -D old"),
    ("Export $HOME", "Export $home"),
    ("Delete .env files", "Delete env files"),
    ("Delete *.log", "Delete .log"),
    ("Send 10 rows.", "Send 10 messages."),
    ("Retry 3 times.", "Make 3 attempts."),
    ("Use v1.2", "Use v12"),
    ("Reply in 1.5 hours", "Reply in 15 hours"),
    ("Accept a few errors.", "Accept few errors."),
    ("Test hard.", "Hardly test."),
    ("Keep the US format.", "Keep us format."),
    ("大阪から東京へ送る。", "東京から大阪へ送る。"),
    ("AとBをCに送る。", "AとCにBを送る。"),
    ("メールを送信する前に宛先を確認する。", "宛先を送信する前にメールを確認する。"),
    ("牛乳を温めてから酵母を入れる。", "酵母を温めてから牛乳を入れる。"),
    ("客が店員を呼ぶ。", "店員が客を呼ぶ。"),
    ("送信しない。", "送信しなくてよい。"),
    ("必ずしも送信しない。", "送信しない。"),
    ("再起動は禁止しない。", "再起動する。"),
    ("食べさせる。", "食べる。"),
    ("送られる。", "送る。"),
    ("書けない。", "書かない。"),
    ("3回まで再試行する。", "3回から再試行する。"),
    ("会議中は録音する。", "会議中に録音する。"),
    ("前日までに送る。", "前日に送る。"),
]


@pytest.mark.parametrize(("one", "other"), ONE)
def test_wording_alone_makes_no_other_lesson(one: str, other: str) -> None:
    assert same(lesson_of(one), lesson_of(other))


@pytest.mark.parametrize(("one", "other"), APART)
def test_whatever_is_not_on_the_list_is_a_difference(one: str, other: str) -> None:
    assert not same(lesson_of(one), lesson_of(other))
