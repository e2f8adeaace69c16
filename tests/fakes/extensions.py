"""What needs an extension asks for it here, and is skipped by name where its folder is absent."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from acc_ace.hooks import STORES, only
from config import Settings

if TYPE_CHECKING:
    from acc_ace.hooks import ServerDatabase


def is_there(name: str) -> bool:
    """Whether this checkout has the extension, and those that it builds on."""
    return not _absent(name)


def require(*names: str) -> None:
    """Skip the test that asks, unless this checkout has all these extensions."""
    for name in names:
        for each in _absent(name):
            pytest.skip(_reason(each))


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test or a row, unless this checkout has all these extensions."""
    absent = [each for name in names for each in _absent(name)]
    return pytest.mark.skipif(bool(absent), reason=", ".join(map(_reason, absent)))


def server_database(request: pytest.FixtureRequest) -> "ServerDatabase":
    """An empty database of the server, to be closed by whoever asked."""
    url = request.getfixturevalue("postgres").clean_database()
    settings = Settings(store="postgres", database_url=url)
    return only(STORES, "ACC_ACE_STORE=postgres").open_database(settings)


def _absent(name: str) -> list[str]:
    """The extension, or those that it builds on, as far as they are not in this checkout."""
    if find_spec(f"acc_ace.ext.{name}") is None:
        return [name]
    if find_spec(f"acc_ace.ext.{name}.entry") is None:
        return []
    entry: object = import_module(f"acc_ace.ext.{name}.entry").ENTRY
    return [each for other in getattr(entry, "builds_on", ()) for each in _absent(other)]


def _reason(name: str) -> str:
    return f"needs the extension {name!r}, which is not in this checkout"
