"""Over A2A a rule holds in its context and in no other, with the commands of the how-to."""

import json
import re
import shlex
import subprocess
import warnings
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.pipeline import build_app
from config import Settings
from tests.e2e.processes import BIN, ROOT, environment, serving
from tests.fakes.extensions import needs
from tests.fakes.loopback import served
from tests.fakes.ports import free_port

agent_to_a2a = pytest.importorskip("google.adk.a2a.utils.agent_to_a2a")
client: Any = pytest.importorskip("a2a.client")
a2a: Any = pytest.importorskip("a2a.types")

HOW_TO: Final = (ROOT / "docs" / "how-to" / "a2a.md").read_text("utf-8")
RULE: Final = "Never restart db-01 on Fridays."
CARD: Final = "/.well-known/agent-card.json"
WAIT_S: Final = 60


def blocks(language: str) -> list[str]:
    """The code of the how-to in a language."""
    return re.findall(rf"```{language}\n(.*?)```", HOW_TO, re.DOTALL)


class Caller:
    """An A2A client in one context."""

    def __init__(self, url: str, context: str) -> None:
        self.url, self.context = url, context

    async def say(self, text: str) -> str:
        """The texts of the answer."""
        async with httpx.AsyncClient(timeout=WAIT_S) as http:
            card = await client.A2ACardResolver(http, self.url).get_agent_card()
            card.supported_interfaces[0].url = self.url
            remote = client.ClientFactory(client.ClientConfig(httpx_client=http)).create(card)
            message = a2a.Message(
                message_id=uuid4().hex,
                context_id=self.context,
                role=a2a.Role.ROLE_USER,
                parts=[a2a.Part(text=text)],
            )
            replies = remote.send_message(a2a.SendMessageRequest(message=message))
            parts = [
                part async for reply in replies for part in reply.artifact_update.artifact.parts
            ]
        return "\n".join(part.text for part in parts)


def answer_to(line: str) -> str:
    """The texts of the reply to a command line of the how-to."""
    printed = subprocess.check_output(shlex.split(line), text=True, timeout=WAIT_S)  # noqa: S603 - the how-to's
    return str(json.loads(printed)["result"]["task"]["artifacts"])


async def holds_in_its_context_alone(url: str) -> None:
    first, second = Caller(url, "order-7"), Caller(url, "order-8")
    await first.say(RULE)
    refusal = await first.say("Restart db-01 on Friday.")
    assert f'"{RULE}" stands in the way' in refusal
    assert "db-01" not in await second.say("What are my rules?")
    assert RULE in await Caller(url, "order-7").say("What are my rules?")


@needs("embedded")
async def test_a_rule_of_one_message_holds_in_the_next_and_in_no_other_context() -> None:
    roles = ("qualifier", "compressor", "generator", "reflector", "curator")
    embedded: dict[str, Any] = {role: {"model": "embedded/rules"} for role in roles}
    app = build_app(build_container(Settings(store="memory", **embedded)))
    runners = pytest.importorskip("google.adk.runners")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ADK calls its A2A experimental.
        runner = runners.InMemoryRunner(app=app)
        port = free_port()
        server = agent_to_a2a.to_a2a(app.root_agent, port=port, runner=runner)
        with served(server, lives=True, port=port) as url:
            await holds_in_its_context_alone(url)


@pytest.mark.soak
@needs("embedded")
async def test_our_app_is_served_by_the_command_of_the_how_to(tmp_path: Path) -> None:
    port, (start, talk) = free_port(), blocks("sh")[:2]
    program, *arguments = start.replace(".venv/bin/", "").split()
    command = [str(BIN / program), *arguments, f"--port={port}"]
    env = environment(tmp_path / "data")
    path = "/a2a/acc_ace"
    with serving(command, port=port, env=env, log=tmp_path / "log", probe=path + CARD) as server:
        lines = talk.replace(":8000", f":{port}").strip().splitlines()
        texts = [answer_to(line) for line in lines]
        assert "stands in the way" in texts[1]
        assert "No constraint is active" in texts[2]
        await holds_in_its_context_alone(f"{server.url}{path}")


@pytest.mark.soak
@needs("embedded")
async def test_an_agent_of_ones_own_is_served_by_the_code_of_the_how_to(tmp_path: Path) -> None:
    port, [code, _] = free_port(), blocks("python")
    agent = (ROOT / "docs/how-to/use-it-in-your-own-agent.md").read_text("utf-8")
    [desk] = re.findall(r"```python\n(.*?)```", agent, re.DOTALL)
    (tmp_path / "desk").mkdir()
    own = desk.replace("gemini-3.5-flash", "embedded/rules")
    (tmp_path / "desk" / "agent.py").write_text(own, encoding="utf-8")
    (tmp_path / "a2a_server.py").write_text(code.replace("8001", str(port)), encoding="utf-8")
    program, *arguments = blocks("sh")[2].replace("8001", str(port)).split()
    with serving(
        [str(BIN / program), *arguments],
        port=port,
        env=environment(tmp_path / "data"),
        log=tmp_path / "log",
        probe=CARD,
        folder=tmp_path,
    ) as server:
        await holds_in_its_context_alone(server.url)
