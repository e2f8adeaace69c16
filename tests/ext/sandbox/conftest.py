"""Each test begins with a full purse."""

from collections.abc import Iterator

import pytest

from acc_ace.ext.sandbox.claude_cli import process_purse


@pytest.fixture(autouse=True)
def full_purse() -> Iterator[None]:
    process_purse.cache_clear()
    yield
    process_purse.cache_clear()
