"""`.env.example` is what the settings are: nothing missing, nothing stale, every default right."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from acc_ace.cli.env_example import env_example
from acc_ace.config import Settings

ROOT = Path(__file__).parents[2]
FILE = ROOT / ".env.example"


def test_env_example_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == env_example(), "run `make env-example`"


def test_every_setting_has_a_description() -> None:
    undescribed = [
        name
        for name, info in Settings.model_fields.items()
        if not info.description and not _is_block(name)
    ]
    for name in filter(_is_block, Settings.model_fields):
        fields = type(getattr(Settings.model_construct(), name)).model_fields
        undescribed += [f"{name}.{field}" for field, info in fields.items() if not info.description]

    assert undescribed == []


def test_uncommenting_every_line_changes_no_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACC_ACE_DATA_DIR", raising=False)
    lines = [
        line.removeprefix("# ")
        for line in FILE.read_text(encoding="utf-8").splitlines()
        if line.startswith("# ACC_ACE_") and "AGENT_DIR" not in line
    ]
    (tmp_path / "all.env").write_text("\n".join(lines), encoding="utf-8")

    uncommented = Settings(_env_file=tmp_path / "all.env")

    assert len(lines) > 60
    assert uncommented == Settings(_env_file=None)


def test_no_default_holds_a_place_of_this_machine() -> None:
    assert str(ROOT) not in FILE.read_text(encoding="utf-8")


def _is_block(name: str) -> bool:
    return isinstance(getattr(Settings.model_construct(), name), BaseModel)
