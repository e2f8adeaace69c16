"""What needs an extension asks for it here, and is skipped by name where its folder is absent."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from acc_ace.hooks import STORES, only
from config import Settings

if TYPE_CHECKING:
    from acc_ace.hooks import ServerDatabase


def is_there(name: str) -> bool:
    """Whether this checkout has the extension."""
    return find_spec(f"acc_ace.ext.{name}") is not None


def require(*names: str) -> None:
    """Skip the test that asks, unless this checkout has all these extensions."""
    for name in names:
        if not is_there(name):
            pytest.skip(_reason(name))


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test or a row, unless this checkout has all these extensions."""
    absent = [name for name in names if not is_there(name)]
    return pytest.mark.skipif(bool(absent), reason=", ".join(map(_reason, absent)))


def server_database(request: pytest.FixtureRequest) -> "ServerDatabase":
    """An empty database of the server, to be closed by whoever asked."""
    url = request.getfixturevalue("postgres").clean_database()
    settings = Settings(store="postgres", database_url=url)
    return only(STORES, "ACC_ACE_STORE=postgres").open_database(settings)


def _reason(name: str) -> str:
    return f"needs the extension {name!r}, which is not in this checkout"
