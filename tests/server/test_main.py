"""`main()` in this process: what it refuses to start with."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acc_ace.bootstrap import process_container
from acc_ace.server import main
from tests.fakes.extensions import needs

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_container() -> Iterator[None]:
    """No other test's container."""
    process_container.cache_clear()
    yield
    process_container.cache_clear()


@needs("embedded")
@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("ACC_ACE_GENERATOR__MODEL", "gpt5-ultra", "gpt5-ultra"),
        ("ACC_ACE_COMPRESSOR__FALLBACK", "embedded/none", "ACC_ACE_COMPRESSOR__FALLBACK"),
        ("ACC_ACE_PORT", "eighty", "ACC_ACE_PORT"),
        ("ACC_ACE_LIMITS__CCS_TOKENS", "1", "ACC_ACE_LIMITS__CCS_TOKENS"),
        ("ACC_ACE_AUTH_TOKENS", "nobody", "ACC_ACE_AUTH_TOKENS"),
        ("ACC_ACE_HOST", "0.0.0.0", "ACC_ACE_ALLOW_REMOTE_WITHOUT_TOKENS"),  # noqa: S104 - refused
        ("ACC_ACE_AGENT_DIR", "/nowhere", "ACC_ACE_AGENT_DIR"),
        ("ACC_ACE_DATA_DIR", "/dev/null/data", "/dev/null/data"),
    ],
)
def test_wrong_setting_ends_with_two_and_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    named: str,
) -> None:
    monkeypatch.setenv("ACC_ACE_PORT", "0")
    monkeypatch.setenv("ACC_ACE_SERVE_WEB_INTERFACE", "false")
    monkeypatch.setenv(name, value)
    assert main.main() == 2
    shown = capsys.readouterr()
    assert named in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert "ACC×ACE" not in shown.out


def test_busy_port_ends_with_two_and_names_the_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("ACC_ACE_PORT", port)
        assert main.main() == 2
    error = capsys.readouterr().err
    assert f"port {port}" in error
    assert "ACC_ACE_PORT" in error


def test_tokens_are_never_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACC_ACE_AUTH_TOKENS", "alice:tok-5f3a,alice:tok-77aa")
    assert main.main() == 2
    assert "tok-" not in capsys.readouterr().err


def test_importing_main_opens_nothing_and_loads_no_agent(tmp_path: Path) -> None:
    code = (
        "import sys, main; "
        "loaded = {'google.adk', 'fastapi', 'acc_ace.agent'} & set(sys.modules); "
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)  # noqa: S603
    assert not (tmp_path / "data").exists()
