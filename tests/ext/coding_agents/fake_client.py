"""A client that plays a session: inputs as the real ones sent them, answers as they read them."""

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc_ace.ext.coding_agents.clients import CLIENTS
from acc_ace.ext.coding_agents.hook_run import run_hook

_LINES = Path(__file__).with_name("recorded.jsonl").read_text(encoding="utf-8").splitlines()
RECORDED: list[dict[str, Any]] = [json.loads(line) for line in _LINES]
SHELLS = {"claude-code": "Bash", "codex": "Bash", "gemini-cli": "run_shell_command"}


@dataclass
class FakeClient:
    """A client of that name in a project."""

    name: str
    project: Path

    def prompt(self, text: str, **more: object) -> dict[str, Any]:
        """The person sends a prompt."""
        return self.call("prompt", prompt=text, **more)

    def start(self, source: str = "startup") -> str:
        """A session starts; what the model is shown."""
        return context_of(self.call("start", source=source))

    def shell(self, command: str) -> tuple[str, str]:
        """The model wants to run a command: the decision and its reason."""
        tool_input = {"command": command, "description": "git push, as the user ordered"}
        return decision_of(self.call("tool", tool_name=SHELLS[self.name], tool_input=tool_input))

    def call(self, moment: str, **fields: object) -> dict[str, Any]:
        """One hook, with the recorded input of its event and these fields."""
        events = CLIENTS[self.name].events
        inputs = (each["input"] for each in RECORDED if each["client"] == self.name)
        base = next(each for each in inputs if events[each["hook_event_name"]] == moment)
        return self.send(json.dumps({**base, "cwd": str(self.project), **fields}).encode())

    def send(self, data: bytes) -> dict[str, Any]:
        """The answer to these bytes; {} for none."""
        said = run_hook(self.name, None, io.BytesIO(data))
        answer: dict[str, Any] = json.loads(said) if said else {}
        return answer


def context_of(answer: dict[str, Any]) -> str:
    """What the model is shown."""
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def decision_of(answer: dict[str, Any]) -> tuple[str, str]:
    """'' where the call may run."""
    own = answer.get("hookSpecificOutput", {})
    does = answer.get("decision", own.get("permissionDecision", ""))
    return does, answer.get("reason", own.get("permissionDecisionReason", ""))
