"""The image, built and run where there is a Docker engine: small, not root, and it answers."""

import shutil
import subprocess
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.processes import ROOT
from tests.fakes.extensions import needs

pytestmark = [pytest.mark.soak, needs("embedded")]

BUILD_S, START_S = 1_200.0, 90.0
MOST_BYTES = 900_000_000
TOKEN = "a-long-random-token"


def docker(*words: str, wait_s: float = START_S) -> str:
    done = subprocess.run(  # noqa: S603 - our own command
        ["docker", *words],  # noqa: S607 - wherever it is
        capture_output=True,
        text=True,
        timeout=wait_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def has_engine() -> bool:
    if (program := shutil.which("docker")) is None:
        return False
    done = subprocess.run([program, "info"], capture_output=True, timeout=30, check=False)  # noqa: S603
    return done.returncode == 0


@pytest.fixture(scope="module")
def image() -> str:
    if not has_engine():
        pytest.skip("no Docker engine here; test_image_context.py checks what it would build from")
    docker("build", "--quiet", "--tag", "acc-ace:tested", str(ROOT), wait_s=BUILD_S)
    return "acc-ace:tested"


@pytest.fixture
def container(image: str) -> Iterator[str]:
    """A container as docs/deploy.md runs it: a read-only file system, no capabilities."""
    name = docker(
        *(
            "run",
            "--detach",
            "--rm",
            "--read-only",
            "--tmpfs",
            "/tmp",  # noqa: S108 - of the container
            "--cap-drop",
            "ALL",
        ),
        *("--publish", "127.0.0.1::8000", "--env", f"ACC_ACE_AUTH_TOKENS=you:{TOKEN}"),
        image,
    )
    yield name
    docker("stop", name)


def test_an_image_is_small_and_runs_as_no_root(image: str) -> None:
    assert int(docker("image", "inspect", "--format", "{{.Size}}", image)) < MOST_BYTES
    assert docker("image", "inspect", "--format", "{{.Config.User}}", image) == "acc"


def test_a_container_is_well_and_answers_a_turn(container: str) -> None:
    address = docker("port", container, "8000").splitlines()[0]
    health, until = "", time.monotonic() + START_S
    while health != "healthy" and time.monotonic() < until:
        health = docker("inspect", "--format", "{{.State.Health.Status}}", container)
        time.sleep(1)
    assert health == "healthy"
    turn = httpx.post(
        f"http://{address}/v1/chat",
        headers={"Authorization": f"Bearer {TOKEN}"},
        json={"input": "Never restart the database."},
        timeout=START_S,
    )
    assert turn.status_code == 200
    assert turn.json()["constraints"][0]["text"] == "Never restart the database."
