"""Settings that cannot be meant are told by name, and no secret is shown."""

from pathlib import Path

import pytest

from acc_ace.cli.app import main
from acc_ace.cli.checks.doctor import examine
from acc_ace.cli.checks.installation import Status
from acc_ace.errors import ConfigError
from config import Settings, load_settings, names_set
from tests.fakes.extensions import needs

SHIFT_JIS = "ACC_ACE_PORT=8001\n# 設定\n".encode("shift-jis")


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `.env` that an editor saved as Shift-JIS."""
    path = tmp_path / ".env"
    path.write_bytes(SHIFT_JIS)
    monkeypatch.setitem(Settings.model_config, "env_file", str(path))
    return path


def test_an_env_file_that_is_not_utf_8_is_named_with_its_line(env_file: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.env is not UTF-8 \(line 2\); save it") as refused:
        load_settings()
    assert str(env_file) in str(refused.value)
    with pytest.raises(ConfigError, match="not UTF-8"):
        names_set()


def test_the_doctor_tells_of_an_env_file_that_is_not_utf_8(env_file: Path) -> None:
    finding = list(examine(online=False))[-1]
    assert (finding.check, finding.status) == ("settings", Status.PROBLEM)
    assert f"{env_file} is not UTF-8" in finding.detail


@needs("background")
def test_a_command_ends_with_one_line_about_the_env_file(
    env_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["acc-ace", "jobs", "list"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        f"error (invalid_settings): {env_file} is not UTF-8 (line 2); save it as UTF-8"
    ]


def test_two_users_never_share_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACC_ACE_AUTH_TOKENS", "alice:the-secret,carol:hers,bob:the-secret")
    with pytest.raises(ConfigError, match="alice and bob have the same token") as refused:
        load_settings()
    assert "secret" not in str(refused.value)


def test_an_argument_that_names_no_setting_is_refused_by_name() -> None:
    names: dict[str, object] = {"store": "memory", "gaurd": "block"}
    with pytest.raises(ConfigError, match=r"no setting is called 'gaurd'"):
        Settings(**names)  # type: ignore[arg-type]
