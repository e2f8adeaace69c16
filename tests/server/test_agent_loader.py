"""What ADK is served: our own app as it is built, and the apps of a folder beside it."""

import subprocess
import sys
from pathlib import Path

import pytest
from google.adk.apps import App

from acc_ace import build_container
from acc_ace.errors import ConfigError, UnknownAppError
from acc_ace.pipeline import build_app
from acc_ace.server.adk_services import agent_loader, agents_dir, apps_beside
from config import ROLES, Settings
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm

RELOADING = """
import sys
from acc_ace import app
from acc_ace.bootstrap import process_container
from acc_ace.config import Settings
from acc_ace.server.adk_services import agent_loader

settings = Settings(store="memory", reload_agents=True)
loader = agent_loader(settings, app)
first, stores = loader.load_agent("acc_ace"), process_container()
loader.remove_agent_from_cache("acc_ace")
second = loader.load_agent("acc_ace")
assert second is not first
assert second.name == first.name
from acc_ace.bootstrap import process_container as now
assert now() is stores
"""


@pytest.fixture
def built() -> App:
    return build_app(build_container(Settings(store="memory")), dict.fromkeys(ROLES, ScriptedLlm()))


@needs("survivor")
def test_without_a_folder_our_apps_alone_are_served(built: App, tmp_path: Path) -> None:
    settings = Settings(agent_dir=None, data_dir=tmp_path)
    container = build_container(Settings(store="memory"))
    loader = agent_loader(settings, built, apps_beside(container))
    assert loader.list_agents() == ["acc_ace", "survivor"]
    assert loader.load_agent("acc_ace") is built
    second = loader.load_agent("survivor")
    assert second.name == "survivor"
    assert loader.load_agent("survivor") is second
    with pytest.raises(ValueError, match="google"):
        loader.load_agent("google")
    assert agents_dir(settings).parent == tmp_path


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL. _load_from_yaml_config:UserWarning")
def test_a_folder_serves_its_apps_beside_the_one_that_is_built(built: App, tmp_path: Path) -> None:
    for name in ("acc_ace", "desk"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").touch()
    loader = agent_loader(Settings(agent_dir=tmp_path), built)
    assert loader.list_agents() == ["acc_ace", "desk"]
    assert loader.load_agent("acc_ace") is built
    for without_agent in ("desk", "nobody"):
        with pytest.raises(UnknownAppError, match="list-apps") as refused:
            loader.load_agent(without_agent)
        assert str(tmp_path) not in str(refused.value)


def test_a_clone_serves_its_own_folder(built: App) -> None:
    assert Settings().agent_dir == Path(__file__).parents[2] / "agents"
    assert agent_loader(Settings(), built).list_agents() == ["acc_ace", "survivor"]


def test_a_missing_folder_is_named(built: App, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ACC_ACE_AGENT_DIR"):
        agent_loader(Settings(agent_dir=tmp_path / "none"), built)


def test_reloading_the_app_keeps_the_stores_of_the_process(tmp_path: Path) -> None:
    env = {"ACC_ACE_DATA_DIR": str(tmp_path), "ACC_ACE_STORE": "memory"}
    done = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", RELOADING], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
