"""What doctor says of a cache."""

import pytest

from cli.checks.cache import check_cache
from cli.checks.finding import Status
from config import Settings
from tests.cache.conftest import RunningRedis


def test_nothing_is_said_of_a_cache_that_nobody_asked_for() -> None:
    assert list(check_cache(Settings())) == []


def test_a_redis_that_answers_is_ok(running: RunningRedis) -> None:
    [finding] = check_cache(Settings(redis_url=running.url))
    assert finding.status is Status.OK


def test_a_redis_that_is_away_is_a_note_because_turns_go_on(away: str) -> None:
    [finding] = check_cache(Settings(redis_url=away))
    assert finding.status is Status.NOTE
    assert "states are read from the store" in finding.detail
    assert finding.fix


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost"])
def test_a_url_that_is_none_is_a_problem_without_showing_it(url: str) -> None:
    [finding] = check_cache(Settings(redis_url=url))
    assert finding.status is Status.PROBLEM
    assert "ACC_ACE_REDIS_URL" in finding.detail
    assert url not in finding.detail
