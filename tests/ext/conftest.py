"""Tests of an extension are skipped by name where one that it builds on is not in this checkout."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.fakes.extensions import is_there, require

HERE = Path(__file__).parent


class Skipped(pytest.Module):
    """A module that cannot be imported."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        require(_extension(self.path))
        return ()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Skipped | None:
    if is_there(_extension(module_path)):
        return None
    return Skipped.from_parent(parent, path=module_path)


def _extension(path: Path) -> str:
    return path.relative_to(HERE).parts[0]
