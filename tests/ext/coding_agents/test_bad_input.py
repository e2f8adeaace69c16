"""Hook inputs of another version, and a memory that is broken: said, and the client goes on."""

import json
import time
from pathlib import Path

import pytest

from acc_ace.ext.coding_agents.clients import CLIENTS
from acc_ace.ext.coding_agents.shell_calls import calls_of_shell
from tests.ext.coding_agents.fake_client import FakeClient
from tests.fakes.extensions import needs

pytestmark = needs("embedded")


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> FakeClient:
    """Each client in a folder of its own."""
    return FakeClient(request.param, tmp_path)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no JSON object"),
        (b"{}", "no event"),
        (b'{"hook_event_name": "BeforeDawn"}', "no event"),
        (b'{"x": "' + b"a" * 10_000_000 + b'"}', "8,000,000 bytes"),
    ],
)
def test_an_input_that_is_none_is_said_and_blocks_nothing(
    client: FakeClient, data: bytes, says: str
) -> None:
    answer = client.send(data)
    assert says in answer["systemMessage"]
    assert set(answer) == {"systemMessage"}


@pytest.mark.parametrize("fields", [{"prompt": 3}, {"prompt": "x", "cwd": 3}, {"cwd": "/not/here"}])
def test_a_missing_or_wrong_field_is_named(client: FakeClient, fields: dict[str, object]) -> None:
    assert "acc-ace: this hook failed" in client.call("prompt", **fields)["systemMessage"]


def test_fields_that_are_new_change_nothing(client: FakeClient) -> None:
    client.prompt("Never run git push.", novelty={"a": [1]}, effort=None)
    assert client.shell("git push")[0] == "deny"


def test_a_broken_memory_is_said_once_a_session_and_lets_calls_run(
    client: FakeClient, home: Path
) -> None:
    client.prompt("Never run git push.")
    (database,) = home.rglob("memory.db")
    for file in database.parent.glob("memory.db-*"):
        file.unlink()
    database.write_bytes(b"no database" * 1_000)
    session = {"session_id": str(client.project)}
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, **session}
    first, second = (client.call("tool", **call) for _ in range(2))
    assert "memory.db" in first["systemMessage"]
    assert second == {}
    assert "memory.db" in client.prompt("Go on.")["systemMessage"]


def test_an_answer_is_one_line_of_json_in_any_language(client: FakeClient) -> None:
    said = client.prompt("git push は絶対にしないで。")
    assert "git push は絶対にしないで" in json.dumps(said, ensure_ascii=False)


@pytest.mark.parametrize(
    "part", ["<<a\n", "sh <<a\n", "'", '"$(', "((", "`", "ssh ", "find -exec ", "eval ", "cd a;"]
)
def test_hostile_lines_are_taken_apart_in_bounded_time(part: str) -> None:
    begin = time.process_time()
    assert len(list(calls_of_shell(part * 40_000))) < 2_000
    assert time.process_time() - begin < 3
