"""A client's tool calls as the guard takes them; what a file gets as its content is not checked."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.ext.coding_agents.project_memory import Project
from acc_ace.ext.coding_agents.shell_calls import PROGRAMS, TOOLS, Call, calls_of_shell, file_call
from acc_ace.ext.guard.calls import ActCall, Speech, Tool
from acc_ace.ext.guard.checks import CallRuling, Decision, checks_of, decide
from acc_ace.ext.guard.matching import has_word
from acc_ace.ext.guard.reading import RuleReading

_PATCH: Final = r"(?m)^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$"
_ASKED_FIRST: Final = (
    r"(?i)\b(?:ask\w*|approv\w*|permission|consent|confirm\w*|sign-?off|go-?ahead|ok(?:ay)?)\b"
    r"|確認|承認|許可|了承|同意|無断|勝手"
)
"""What a person's yes to the call gives."""

_KEEPS: Final = (
    r"(?i)acc[-_]ace|\.(?:claude|codex|gemini)(?:/+(?:settings|hooks|config)|/*(?![\w/.-]))"
)
_HOME: Final = r"~(?=/)|\$HOME\b|\$\{HOME\}"
_CHANGES: Final = "Creates or changes a file."


class CallVerdict(NamedTuple):
    """'deny', 'ask' or 'remind', the rule, and why."""

    does: str
    pin: ConstraintPin
    why: str


def judged(
    name: str, args: Mapping[str, Any], rules: Sequence[ConstraintPin], now: datetime
) -> CallVerdict | None:
    """The worst that the rules make of a call; None when it may run."""
    calls = [] if name in TOOLS["talk"] else list(calls_of(name, args))
    verdicts = (
        CallVerdict(does, pin, result.why)
        for pin in rules
        for tool, call in calls
        if (result := decide(checks_of(pin, tool), call, now)).ruling is not CallRuling.RUN
        if (does := _does(pin, result, tool, call))
    )
    return min(verdicts, key=lambda each: ("deny", "ask", "remind").index(each.does), default=None)


def calls_of(name: str, args: Mapping[str, Any]) -> Iterator[Call]:
    """The calls in a call: each command of a line, each file of a patch."""
    command = args.get("command") or args.get("cmd") or ""
    line = shlex.join(map(str, command)) if isinstance(command, list) else str(command)
    path = args.get("file_path") or args.get("notebook_path") or args.get("path")
    patch = command or args.get("input") or args.get("patch") or ""
    patch = "\n".join(map(str, patch)) if isinstance(patch, list) else str(patch)
    if name == "apply_patch" or "*** Begin Patch" in patch:
        for kind, file in re.findall(_PATCH, patch):
            is_gone = kind == "Delete File"
            says = "Deletes a file." if is_gone else _CHANGES
            yield file_call("delete_file" if is_gone else "write_file", says, file.strip())
    if name == "apply_patch":
        return
    if name in TOOLS["shells"] or isinstance(args.get("command"), str):
        yield from calls_of_shell(line)
    if name in TOOLS["shells"]:
        return
    if name in TOOLS["writes"] and path:
        yield file_call("write_file", _CHANGES, str(path))
    elif name in TOOLS["reads"] and path:
        yield file_call("read_file", "Reads a file.", str(path))
    else:
        own = {key: value for key, value in args.items() if key != "description"}
        yield Tool(name, "", {key: {} for key in own}), ActCall(name, own)


def reaches_rules(name: str, args: Mapping[str, Any], project: Project) -> bool:
    """Whether a call names what keeps the rules: us, our memory, a client or its settings."""
    if name in TOOLS["talk"] | TOOLS["reads"] | TOOLS["looks"]:
        return False
    calls = [call for _, call in calls_of(name, args)]
    if any(call.tool.partition("@")[0] in PROGRAMS["agents"] for call in calls):
        return True
    line = args.get("command") or args.get("cmd") or "" if name in TOOLS["shells"] else ""
    own = [f"{'' if call.tool == name else call.tool} {call.args}" for call in calls]
    text = re.sub(_HOME, str(Path.home()), f"{line} {own}")
    named = str(project.settings.data_dir) in text
    return named or bool(re.search(_KEEPS, text.replace(str(project.root), "")))


def _does(pin: ConstraintPin, result: Decision, tool: Tool, call: ActCall) -> str:
    """What a client is to do; '' lets it run.

    A rule that wants the person asked is met by asking. One that wants a deed first is put before
    the model: no call shows the deed.
    """
    reading = result.check.reading if result.check else None
    if reading is None:
        return ""
    asked_first = bool(re.search(_ASKED_FIRST, pin.text))
    worst = "ask" if asked_first else "remind" if reading.unless else "deny"
    if result.ruling is CallRuling.JUDGE:
        # Without a model to judge it: only what does the rule's act, or names its thing.
        needed = RuleReading(verbs=reading.verbs) if reading.verbs else reading
        is_near = result.named and has_word(needed, tool, Speech(call, tool))
        return ("remind" if worst == "remind" else "ask") if is_near else ""
    return "ask" if result.ruling is CallRuling.ASK and worst == "deny" else worst
