"""Google's own variables count in `.env` as they do in the environment."""

import os
from pathlib import Path

import pytest

from acc_ace.config import GEMINI_MODEL, Settings, google_credentials, load_settings


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `.env` with a key; what it brings into the environment ends with the test."""
    path = tmp_path / ".env"
    path.write_text("GOOGLE_API_KEY=from-the-file\nOTHER_KEY=of-somebody-else\n")
    monkeypatch.setitem(Settings.model_config, "env_file", str(path))
    monkeypatch.setenv("GOOGLE_API_KEY", "")
    monkeypatch.delenv("GOOGLE_API_KEY")
    return path


def test_a_key_in_the_file_lets_gemini_answer(env_file: Path) -> None:
    assert env_file.exists()
    assert load_settings().model_name("generator") == GEMINI_MODEL
    assert os.environ["GOOGLE_API_KEY"] == "from-the-file"


@pytest.mark.parametrize(("own", "credentials"), [("my-own", "api_key"), ("", None)])
def test_the_environment_comes_before_the_file(
    env_file: Path, monkeypatch: pytest.MonkeyPatch, own: str, credentials: str | None
) -> None:
    assert env_file.exists()
    monkeypatch.setenv("GOOGLE_API_KEY", own)
    load_settings()
    assert (os.environ["GOOGLE_API_KEY"], google_credentials()) == (own, credentials)


def test_nothing_else_of_the_file_reaches_the_environment(env_file: Path) -> None:
    assert env_file.exists()
    load_settings()
    assert "OTHER_KEY" not in os.environ
