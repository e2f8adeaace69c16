"""One call by a client: JSON on stdin, an answer in the client's form on stdout.

Whatever goes wrong is said and lets the client go on; the exit code is always 0, since clients take
others for a decision or show no reason.
"""

import json
import logging
import sys
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

from acc_ace.clock import SystemClock
from acc_ace.errors import AccAceError, InputError
from acc_ace.ext.coding_agents.clients import Client, answer, client_named, decision
from acc_ace.ext.coding_agents.project_memory import (
    Outcomes,
    Project,
    keep,
    open_project,
    put_back,
    rules_of,
)
from acc_ace.ext.coding_agents.prompt_words import own_words

Fields = dict[str, Any]
"""What a client sent."""

_MOST_BYTES: Final = 8_000_000
_WITHIN_S: Final = 20.0
_PERSON: Final = frozenset(["user", "sdk"])
"""Sources of a prompt that a person wrote, where the client tells the source."""

_KEEPS: Final = "acc-ace, its memory, the settings of a client, or another client"


def run_hook(name: str, project: str | None, stdin: BinaryIO) -> str:
    """The answer to one call; '' when there is nothing to say. Raises InputError for the name."""
    client = client_named(name)
    sent: Fields = {}
    try:
        sent = _read(stdin)
        event = sent.get("hook_event_name")
        if not isinstance(event, str) or event not in client.events:
            raise InputError(f"{event!r:.60} is no event that acc-ace answers for {client.name}")
        return _ANSWERS[client.events[event]](client, sent, open_project(_folder(sent, project)))
    except Exception as error:  # noqa: BLE001 - a hook that fails may not break the session
        return _failure(client, sent, error)


def _read(stdin: BinaryIO) -> Fields:
    data = stdin.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        while stdin.read(1 << 20):  # So that the client is not cut off while it writes.
            pass
        raise InputError(f"the hook's input has more than {_MOST_BYTES:,} bytes and was not read")
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the hook's input is not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise InputError("the hook's input is no JSON object")
    return fields


def _text(sent: Fields, name: str) -> str:
    value = sent.get(name)
    if not isinstance(value, str):
        raise InputError(f"the hook's input has no text '{name}'; is it another version?")
    return value


def _prompt(client: Client, sent: Fields, project: Project) -> str:
    words, outcome = own_words(_text(sent, "prompt"), client), Outcomes()
    if words and sent.get("source", "user") in _PERSON and not sent.get("agent_id"):
        outcome = keep(project, words, within_s=_WITHIN_S)
    rules = outcome.rules
    if not client.keeps_context:
        rules = [put_back(None, rules_of(project)[1], whole=False)]
    says = "\n".join(note.replace("/rule ", "Rule: ") for note in outcome.notes)
    context = "\n".join(filter(None, [*outcome.lifted, *rules]))
    return answer(_event(sent), says=f"acc-ace: {says}" if says else "", context=context)


def _start(_: Client, sent: Fields, project: Project) -> str:
    is_whole = _event(sent) == "SessionStart"
    return answer(_event(sent), context=put_back(*rules_of(project), whole=is_whole))


def _tool(client: Client, sent: Fields, project: Project) -> str:
    _, rules = rules_of(project)
    if not rules or project.settings.guard == "off":
        return ""
    from acc_ace.ext.coding_agents.client_calls import judged, reaches_rules  # noqa: PLC0415 - slow

    args = sent.get("tool_input")
    args = args if isinstance(args, dict) else {"input": args}
    now = SystemClock().now().astimezone(project.settings.zone)
    name = _text(sent, "tool_name")
    verdict = judged(name, args, rules, now)
    does = verdict.does if verdict else ""
    problem, why = "names what keeps the user's rules", _KEEPS
    if does != "deny" and reaches_rules(name, args, project):
        does = "ask"
    elif verdict:
        rule = f'{verdict.pin.id}: "{" ".join(verdict.pin.text.split())[:600]}"'
        problem, why = f"goes against the user's rule {rule}", verdict.why
        if does == "remind":
            context = f"Before this call, the user's rule {rule} must be met."
            return answer(_event(sent), context="" if client.flat else context)
    else:
        return ""
    if does == "ask" and client.asks and project.settings.guard == "confirm":
        return decision(
            client, _event(sent), "ask", f"acc-ace: this call {problem} ({why}). Run it?"
        )
    reason = f"acc-ace: not run, it {problem} ({why}). Do not try it another way: "
    reason += "only the user can lift it."
    return decision(client, _event(sent), "deny", reason)


_ANSWERS: Final = {"prompt": _prompt, "start": _start, "tool": _tool}


def _event(sent: Fields) -> str:
    return str(sent.get("hook_event_name", ""))


def _folder(sent: Fields, folder: str | None) -> Path:
    path = Path(folder or _text(sent, "cwd"))
    if not path.is_absolute() or not path.is_dir():
        raise InputError(f"the project '{path}' is no folder here")
    return path


def _failure(client: Client, sent: Fields, error: Exception) -> str:
    """What is wrong, in the client's form; at tool calls once a session."""
    problem = " ".join(str(error).split())[:600]
    if isinstance(error, TimeoutError):
        problem = f"your prompt was not read within {_WITHIN_S:.0f} s; it is read with the next one"
    elif not isinstance(error, AccAceError):
        problem = f"{type(error).__name__}: {problem}"
    if client.events.get(_event(sent)) == "tool":
        key = sha256(f"{sent.get('session_id')}\n{problem}".encode("utf-8", "replace")).hexdigest()
        mark = Path(tempfile.gettempdir(), f"acc-ace-hook-{key[:16]}")
        if mark.exists():
            return ""
        with suppress(OSError):  # Then it is said again.
            mark.touch(0o600)
    return answer(
        _event(sent), says=f"acc-ace: this hook failed, {client.name} goes on without it: {problem}"
    )


def main(name: str, project: str | None = None) -> None:
    """Answer one call of a client: its JSON is on stdin, the answer goes to stdout."""
    logging.disable(logging.CRITICAL)  # A client may take stderr for words of ours.
    text = run_hook(name, project, sys.stdin.buffer)
    if text:
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
