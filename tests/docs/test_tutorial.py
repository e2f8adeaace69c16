"""The notebook runs, without a key and as it stands; what it asserts of the rule is true."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT, environment
from tests.fakes.extensions import needs

RUN = """
import ast, asyncio, inspect, json, sys

async def run(cells, names):
    for cell in cells:
        code = compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if inspect.isawaitable(waiting := eval(code, names)):
            await waiting

cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
asyncio.run(run(["".join(c["source"]) for c in cells if c["cell_type"] == "code"], {}))
"""
"""Runs the cells of a notebook one after the other, as Jupyter does with `await` in them."""


@needs("embedded", "guard")
@pytest.mark.soak
def test_the_notebook_runs_and_only_plain_adk_restarts_the_host(tmp_path: Path) -> None:
    ended = subprocess.run(  # noqa: S603 - our own notebook
        [sys.executable, "-c", RUN, str(ROOT / "docs" / "tutorial.ipynb")],
        cwd=tmp_path,
        env=environment(tmp_path / "data"),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    plain, remembered = ended.stdout.split("turn 30: calls restart_host")[1:]
    assert "tool says {'restarted': 'db-01'}" in plain
    assert "the user's rule c-0001 says: Never restart db-01." in remembered
