"""Schemathesis asks every route what its OpenAPI document allows, and what it does not.

Nothing may answer 5xx, nothing may differ from what the document says of it.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tests.e2e.processes import environment, our_server
from tests.fakes.extensions import needs

SECONDS = 60
WAIT_S = 240
LEFT_OUT = (
    "^/dev-ui$",  # A page of ADK's, which its document calls JSON.
    "^/agent-identity/",  # ADK answers 500 where its optional package is not installed.
)
# Two of ADK's templates meet at one address (`artifacts/{name:path}`, `tests/{name}`): it takes the
# methods of both and `Allow` names them, and the tool compares them with one.
CHECKS = r"""
[checks]
enabled = false
not_a_server_error.enabled = true
status_code_conformance.enabled = true
content_type_conformance.enabled = true
response_headers_conformance.enabled = true
response_schema_conformance.enabled = true
unsupported_method.enabled = true
allow_header_conformance.enabled = true

[[operations]]
include-path-regex = "/artifacts/.*/versions|/tests/(run|rebuild)$"
checks.allow_header_conformance.enabled = false
checks.unsupported_method.enabled = false
"""


@pytest.mark.soak
@pytest.mark.skipif(find_spec("schemathesis") is None, reason="needs schemathesis: make setup")
@needs("embedded")
def test_each_route_answers_as_its_document_says(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    (tmp_path / "schemathesis.toml").write_text(CHECKS)
    agents.mkdir()  # ADK's routes for developers write there.
    with our_server(
        tmp_path, ACC_ACE_MODEL="embedded/rules", ACC_ACE_AGENT_DIR=str(agents)
    ) as server:
        # It is generated once, which takes longer on a busy machine than the tool would wait.
        httpx.get(f"{server.url}/openapi.json", timeout=WAIT_S).raise_for_status()
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
        ended = subprocess.run(  # noqa: S603 - the tool of this environment
            [
                *command,
                *("--exclude-path-regex", "|".join(LEFT_OUT)),
                *("--max-time", str(SECONDS), "--request-timeout", "30"),
                *("--warnings", "off", "--no-color"),
                "--generation-deterministic",
            ],
            cwd=tmp_path,
            env=environment(tmp_path / "data"),
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    print(ended.stdout[-20_000:])
    assert ended.returncode == 0, ended.stderr
