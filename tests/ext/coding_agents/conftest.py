"""Each test has a home of its own, beside its project."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Where memory goes; a hook changes the working directory, which comes back."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACC_ACE_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("HOME", str(folder))
    return folder
