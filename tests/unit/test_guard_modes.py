"""A mode of the guard that there is not is refused, wherever it is said."""

import sys

import pytest

from acc_ace import BoundedMemoryPlugin, Conversation, build_container
from acc_ace.cli.app import main
from acc_ace.errors import ConfigError
from config import ROLES, Settings, load_settings
from tests.fakes.scripted_llm import ScriptedLlm


@pytest.mark.parametrize("mode", ["nope", "Block"])
def test_unknown_mode_is_refused_by_name_in_a_variable(
    mode: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACC_ACE_GUARD", mode)
    with pytest.raises(ConfigError, match=r"ACC_ACE_GUARD.*'off', 'confirm' or 'block'"):
        load_settings()
    monkeypatch.setattr(sys, "argv", ["acc-ace", "chat"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code
    assert "ACC_ACE_GUARD" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["nope", ""])
def test_unknown_mode_is_refused_by_name_in_copied_settings(mode: str) -> None:
    settings = Settings(store="memory").model_copy(update={"guard": mode})
    box = build_container(settings)
    for build in (BoundedMemoryPlugin, Conversation):
        with pytest.raises(ConfigError, match=r"ACC_ACE_GUARD is .* use one of 'off', 'confirm'"):
            build(box, models=dict.fromkeys(ROLES, ScriptedLlm()))


def test_unknown_mode_is_refused_as_an_argument_of_the_plugin() -> None:
    box = build_container(Settings(store="memory"))
    with pytest.raises(TypeError, match=r"'guard' must be .*'off', 'confirm', 'block'"):
        BoundedMemoryPlugin(box, guard="nope")  # type: ignore[arg-type]
