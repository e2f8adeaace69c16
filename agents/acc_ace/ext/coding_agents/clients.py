"""The clients: where their settings are, what they call their events, and how they are answered."""

import json
import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acc_ace.errors import InputError

MODULE: Final = "acc_ace.ext.coding_agents"


@dataclass(frozen=True)
class Client:
    """A client."""

    name: str
    file: str
    """Its settings, below the project or the home directory."""
    events: Mapping[str, str]
    """Its events, and what each is to us: 'prompt', 'start' or 'tool'."""
    timeout: int
    """In the client's unit."""
    project: str = ""
    """What the client puts in the command for the directory that it was started in."""
    asks: bool = True
    """Whether a hook can have it ask the person before a call."""
    keeps_context: bool = True
    """Whether it starts a session anew after a compaction; else rules come with each prompt."""
    flat: bool = False
    """Whether a decision stands at the top of the answer."""
    asks_below: str = ""
    """The line below which the person's words stand, where the client puts its own above them."""
    next_step: str = ""

    @property
    def command(self) -> str:
        """What it runs. -P: nothing in the project is taken for a module."""
        words = [shlex.quote(sys.executable), "-P -m", MODULE, self.name, self.project]
        return " ".join(filter(None, words))

    @property
    def entry(self) -> dict[str, Any]:
        """Our entry for an event."""
        hook = {"type": "command", "command": self.command, "timeout": self.timeout}
        return {"hooks": [{"name": "acc-ace", **hook} if self.flat else hook]}


def _clients() -> dict[str, Client]:
    text = Path(__file__).with_name("clients.toml").read_text(encoding="utf-8")
    return {name: Client(name=name, **fields) for name, fields in tomllib.loads(text).items()}


CLIENTS: Final = _clients()


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
        words = {"systemMessage": reason} if does == "ask" else {}
        return json.dumps({"decision": does, "reason": reason, **words}, ensure_ascii=False)
    out = {"permissionDecision": does, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **out}}, ensure_ascii=False)
