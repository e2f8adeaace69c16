"""The zone whose days 'yesterday' means is a setting."""

from datetime import UTC

import pytest
from pydantic import ValidationError

from acc_ace.config import Settings
from tests.fakes.tables import each_case


def test_the_zone_is_utc_unless_set() -> None:
    assert Settings(_env_file=None).zone is UTC


def test_a_zone_is_set_by_its_name() -> None:
    assert str(Settings(_env_file=None, time_zone="Asia/Tokyo").zone) == "Asia/Tokyo"


@each_case
def test_an_unknown_zone_is_named_with_what_would_do(name: str) -> None:
    with pytest.raises(ValidationError, match=r"is not a time zone; use an IANA name"):
        Settings(_env_file=None, time_zone=name)
