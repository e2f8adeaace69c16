"""The installed package is one name, `acc_ace`, and works beside modules like ours."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.e2e.processes import ROOT, environment, serving
from tests.fakes.extensions import needs
from tests.fakes.ports import free_port

WAIT_S = 60.0
PIP = (sys.executable, "-m", "pip")
ALONE = ("--no-deps", "--no-index", "--quiet")
OURS = ("config", "main", "schemas", "core", "server", "cli", "lab")
PROJECT = """
import asyncio
import sys
from pathlib import Path

import acc_ace
import config, main, schemas, core, server, cli, lab
from acc_ace.controller import AccController
from acc_ace.plugin import BoundedMemoryPlugin
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

RULE = "Never restart db-01 during business hours."


async def run():
    agent = LlmAgent(name="helper", model="embedded/rules", instruction="Help.")
    app = App(name="desk", root_agent=agent, plugins=[BoundedMemoryPlugin()])
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="desk", user_id="u")
    message = types.UserContent(RULE)
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        pass
    kept = await runner.session_service.get_session(
        app_name="desk", user_id="u", session_id=session.id
    )
    assert kept.state["ccs"]["constraints"] == [RULE], kept.state
    acc = AccController.from_settings(session="s")
    state = await acc.update_state(RULE, None)
    assert state.constraints == [RULE], state
    await acc.close()


asyncio.run(run())
mine = (config, main, schemas, core, server, cli, lab)
assert all(module.OWNER == "the project" for module in mine)
assert Path(sys.prefix) in Path(acc_ace.__file__).parents, acc_ace.__file__
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run([*PIP, "wheel", *ALONE, "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)])
    [built] = folder.glob("acc_ace-*.whl")
    return built


@pytest.fixture(scope="module")
def bin_dir(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, which borrows our dependencies."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    python = place / "bin/python"
    # Before the dependencies are in sight: among them is this checkout, installed for editing.
    _run([*PIP, "--python", str(python), "install", *ALONE, str(wheel)])
    [own] = place.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (own / "_borrowed.pth").write_text("\n".join(borrowed), encoding="utf-8")
    return python.parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose modules are named as ours were."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in OURS[:2]:
        (folder / f"{name}.py").write_text('OWNER = "the project"\n', encoding="utf-8")
    for name in OURS[2:]:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text('OWNER = "the project"\n', encoding="utf-8")
    (folder / "program.py").write_text(PROJECT, encoding="utf-8")
    return folder


def _run(command: list[str], **options: object) -> str:
    done = subprocess.run(  # type: ignore[call-overload]  # noqa: S603 - our own command
        command, capture_output=True, text=True, check=False, timeout=4 * WAIT_S, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def _environment(project: Path, **settings: str) -> dict[str, str]:
    # The project's modules come first for every program, also for those that are installed.
    return environment(project / "data", PYTHONPATH=str(project), **settings)


def test_the_wheel_holds_one_package_and_its_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"acc_ace"}
    files = (path for path in (ROOT / "agents/acc_ace").rglob("*") if path.is_file())
    data = {
        path.relative_to(ROOT / "agents").as_posix()
        for path in files
        if path.suffix in {".md", ".sql"}
    }
    assert data
    assert data <= set(names)


@needs("embedded")
def test_plugin_and_controller_work_beside_modules_of_the_same_names(
    bin_dir: Path, project: Path
) -> None:
    _run([str(bin_dir / "python"), "program.py"], cwd=project, env=_environment(project))


@pytest.mark.soak
def test_the_command_line_works_beside_modules_of_the_same_names(
    bin_dir: Path, project: Path
) -> None:
    env = _environment(project)
    command = str(bin_dir / "acc-ace")
    assert _run([command, "--version"], cwd=project, env=env).strip()
    said = "Never restart db-01 during business hours."
    shown = _run([command, "chat", "--json"], cwd=project, env=env, input=f"{said}\n")
    assert said in shown


@pytest.mark.soak
def test_the_server_of_an_installation_serves_its_own_apps_alone(
    bin_dir: Path, project: Path
) -> None:
    port = free_port()
    with serving(
        [str(bin_dir / "acc-ace"), "serve"],
        port=port,
        env=_environment(project, ACC_ACE_PORT=str(port)),
        log=project.parent / "server.log",
        probe="/healthz",
        folder=project,
    ) as server:
        with httpx.Client(base_url=server.url, timeout=WAIT_S) as http:
            assert http.get("/list-apps").json() == ["acc_ace", "survivor"]
            answer = http.post("/v1/sessions/s/turns", json={"input": "Never restart db-01."})
            assert answer.status_code == 200, answer.text
            http.post("/apps/acc_ace/users/u/sessions", json={"sessionId": "r"})
            message = {"role": "user", "parts": [{"text": "What now?"}]}
            run = {"appName": "acc_ace", "userId": "u", "sessionId": "r", "newMessage": message}
            assert http.post("/run", json=run).status_code == 200
        server.terminate()
        server.wait()
        assert "Traceback" not in server.output()
