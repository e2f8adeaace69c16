"""What ADK traces of turns is neither kept nor served: it holds the words of every user."""

import subprocess
import sys
from pathlib import Path

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.server.app import create_app
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

RECORDS = """
from pathlib import Path
from opentelemetry import trace
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.app import create_app
chosen = Settings(store="memory", data_dir=Path(), learning="off", serve_web_interface=True)
create_app(build_container(chosen))
print(trace.get_tracer("any").start_span("turn").is_recording())
"""


async def test_no_trace_of_a_session_is_served(tmp_path: Path) -> None:
    chosen = Settings(store="sqlite", data_dir=tmp_path, learning="off", serve_web_interface=True)
    app = create_app(build_container(chosen), models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as http:
        body, who = {"input": "My password is swordfish."}, {"X-User": "aiko"}
        said = await http.post("/v1/sessions/s-1/turns", json=body, headers=who)
        assert said.status_code == 200
        shown = await http.get("/dev/apps/acc_ace/debug/trace/session/s-1")
    await app.state.acc_ace.close()
    assert shown.status_code == 404


@needs("embedded")
def test_the_server_records_no_span_of_a_turn(tmp_path: Path) -> None:
    # In a process of its own: the tracer of a process is set once, whoever comes first.
    run = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", RECORDS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert run.stdout.split()[-1] == "False"
