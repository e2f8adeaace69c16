"""The clients: where their settings are, what they call their events, and how they are answered."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from acc_ace.errors import InputError

MODULE: Final = "acc_ace.ext.coding_agents"


class Moment(StrEnum):
    """When a client calls us."""

    PROMPT = "prompt"
    START = "start"
    TOOL = "tool"


@dataclass(frozen=True)
class Client:
    """A client."""

    name: str
    file: str
    """Its settings, below the project or the home directory."""
    events: Mapping[str, Moment]
    prompt_timeout: int
    """In the client's unit."""
    project: str = ""
    """What the client puts in the command for the directory that it was started in."""
    asks: bool = True
    """Whether a hook can have it ask the person before a call."""
    keeps_context: bool = True
    """Whether it starts a session anew after a compaction; else rules come with each prompt."""
    flat: bool = False
    """Whether a decision stands at the top of the answer."""
    next_step: str = ""

    @property
    def command(self) -> str:
        """What it runs. -P: nothing in the project is taken for a module."""
        words = [shlex.quote(sys.executable), "-P -m", MODULE, self.name, self.project]
        return " ".join(filter(None, words))

    def entry(self, moment: Moment) -> dict[str, Any]:
        """Our entry for an event."""
        timeout = self.prompt_timeout if moment is Moment.PROMPT else self.prompt_timeout // 2
        hook = {"type": "command", "command": self.command, "timeout": timeout}
        return {"hooks": [{"name": "acc-ace", **hook} if self.flat else hook]}


_EVENTS: Final = {
    "UserPromptSubmit": Moment.PROMPT,
    "SessionStart": Moment.START,
    "SubagentStart": Moment.START,
    "PreToolUse": Moment.TOOL,
}
CLIENTS: Final = {
    each.name: each
    for each in (
        Client(
            "claude-code",
            ".claude/settings.json",
            _EVENTS,
            30,
            project='"$CLAUDE_PROJECT_DIR"',
            next_step="Hooks are read when a session starts: start Claude Code anew.",
        ),
        Client(
            "codex",
            ".codex/hooks.json",
            _EVENTS,
            30,
            asks=False,
            next_step="Codex runs a hook once you trust it: start it, and trust these at /hooks.",
        ),
        Client(
            "gemini-cli",
            ".gemini/settings.json",
            {
                "BeforeAgent": Moment.PROMPT,
                "SessionStart": Moment.START,
                "BeforeTool": Moment.TOOL,
            },
            30_000,
            project="$GEMINI_PROJECT_DIR",
            keeps_context=False,
            flat=True,
            next_step="Gemini CLI reads hooks of a project in trusted folders only: start it anew.",
        ),
    )
}


def client_named(name: str) -> Client:
    """The client; raises InputError that names them."""
    if name not in CLIENTS:
        raise InputError(f"'{name}' is no client with hooks of ours; give {', '.join(CLIENTS)}")
    return CLIENTS[name]


def answer(event: str, *, says: str = "", context: str = "") -> str:
    """What the person is shown, and what the model is; '' for neither."""
    out: dict[str, Any] = {"systemMessage": says} if says else {}
    if context:
        out["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    return json.dumps(out, ensure_ascii=False) if out else ""


def decision(client: Client, event: str, does: str, reason: str) -> str:
    """'deny' or 'ask' as the client takes it; it is denied where the client cannot ask."""
    does = does if client.asks else "deny"
    if client.flat:
        shown = {"systemMessage": reason} if does == "ask" else {}
        return json.dumps({"decision": does, "reason": reason, **shown}, ensure_ascii=False)
    out = {"permissionDecision": does, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **out}}, ensure_ascii=False)
