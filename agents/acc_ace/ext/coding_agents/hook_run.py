"""One call by a client: JSON on stdin, an answer in the client's form on stdout.

Whatever goes wrong is said and lets the client go on; the exit code is always 0, since clients take
others for a decision or show no reason.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from acc_ace.errors import AccAceError, InputError
from acc_ace.ext.coding_agents.clients import Client, Moment, answer, client_named, decision

_MOST_BYTES: Final = 8_000_000
_WITHIN_S: Final = 20.0
_PERSON: Final = frozenset(["user", "sdk"])
"""Sources of a prompt that a person wrote, where the client tells the source."""

_DOCUMENTS: Final = (
    r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.*?</\1>",
    r"```.*?(?:```|$)",
    r"--- Content from referenced files ---.*?(?:--- End of content ---|$)",
)
"""What clients and people mark as no words of the person."""

_IDE: Final = "## My request for Codex:"


class HookInput(NamedTuple):
    """What the client sent."""

    event: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A field that must be text; raises InputError."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise InputError(f"the hook's input has no text '{name}'; is it another version?")
        return value


def run_hook(name: str, project: str | None, stdin: BinaryIO) -> str:
    """The answer to one call; '' when there is nothing to say. Raises InputError for the name."""
    client, event = client_named(name), ""
    sent = HookInput("", {})
    try:
        sent = _read(stdin)
        event = sent.event
        if event not in client.events:
            raise InputError(f"'{event[:60]}' is no event that acc-ace answers for {client.name}")
        return _ANSWERS[client.events[event]](client, sent, project)
    except TimeoutError:
        return answer(
            event,
            says=f"acc-ace: your prompt was not read for rules within {_WITHIN_S:.0f} s; it is "
            "read with your next one. Rules in force hold.",
        )
    except Exception as error:  # noqa: BLE001 - a hook that fails may not break the session
        said = str(error) if isinstance(error, AccAceError) else f"{type(error).__name__}: {error}"
        return _failure(client, sent, " ".join(said.split())[:600])


def _read(stdin: BinaryIO) -> HookInput:
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
    return HookInput(str(fields.get("hook_event_name") or ""), fields)


def _prompt(client: Client, sent: HookInput, folder: str | None) -> str:
    from acc_ace.ext.coding_agents import project_memory  # noqa: PLC0415 - slow

    words = own_words(sent.text("prompt"))
    of_person = sent.fields.get("source", "user") in _PERSON and not sent.fields.get("agent_id")
    project = project_memory.open_project(_folder(sent, folder))
    kept = project_memory.Kept()
    if of_person and words:
        kept = project_memory.keep(project, words, within_s=_WITHIN_S)
    made = kept.made
    if not client.keeps_context:
        _, rules = project_memory.rules_of(project)
        made = [project_memory.put_back(None, rules, whole=False)]
    says = "\n".join(note.replace("/rule ", "Rule: ") for note in kept.notes)
    context = "\n".join(filter(None, [*kept.lifted, *made]))
    says = f"acc-ace: {says}" if says else ""
    return answer(sent.event, says=says, context=context)


def own_words(prompt: str) -> str:
    """A prompt without documents; '' for a command of the client."""
    words = prompt.rpartition(_IDE)[2]
    for pattern in _DOCUMENTS:
        words = re.sub(pattern, " ", words, flags=re.DOTALL)
    words = words.strip()
    return "" if words.startswith("/") else words


def _start(_: Client, sent: HookInput, folder: str | None) -> str:
    from acc_ace.ext.coding_agents import project_memory  # noqa: PLC0415 - slow

    ccs, rules = project_memory.rules_of(project_memory.open_project(_folder(sent, folder)))
    is_whole = sent.event == "SessionStart"
    return answer(sent.event, context=project_memory.put_back(ccs, rules, whole=is_whole))


def _tool(client: Client, sent: HookInput, folder: str | None) -> str:
    from acc_ace.ext.coding_agents import project_memory  # noqa: PLC0415 - slow

    project = project_memory.open_project(_folder(sent, folder))
    _, rules = project_memory.rules_of(project)
    if not rules or project.settings.guard == "off":
        return ""
    from acc_ace.clock import SystemClock  # noqa: PLC0415 - slow
    from acc_ace.ext.coding_agents.client_calls import judged  # noqa: PLC0415

    args = sent.fields.get("tool_input")
    args = args if isinstance(args, dict) else {"input": args}
    now = SystemClock().now().astimezone(project.settings.zone)
    verdict = judged(sent.text("tool_name"), args, list(rules), now)
    if verdict is None:
        return ""
    rule = f'{verdict.pin.id}: "{" ".join(verdict.pin.text.split())[:600]}"'
    if verdict.does == "remind":
        context = "" if client.flat else f"Before this call, the user's rule {rule} must be met."
        return answer(sent.event, context=context)
    if verdict.does == "ask" and client.asks and project.settings.guard == "confirm":
        reason = f"acc-ace: this call may go against your rule {rule}. Run it all the same?"
        return decision(client, sent.event, "ask", reason)
    reason = (
        f"acc-ace: not run, it goes against the user's rule {rule} ({verdict.why}). Do not try it "
        f"another way. Only the user can lift the rule, with a prompt that only says: "
        f"lift {verdict.pin.id}"
    )
    return decision(client, sent.event, "deny", reason)


_ANSWERS: Final = {Moment.PROMPT: _prompt, Moment.START: _start, Moment.TOOL: _tool}


def _folder(sent: HookInput, folder: str | None) -> Path:
    path = Path(folder or sent.text("cwd"))
    if not path.is_absolute() or not path.is_dir():
        raise InputError(f"the project '{path}' is no folder here")
    return path


def _failure(client: Client, sent: HookInput, problem: str) -> str:
    """What is wrong, in the client's form; at tool calls once a session."""
    says = f"acc-ace: this hook failed, and {client.name} goes on without it: {problem}"
    if client.events.get(sent.event) is Moment.TOOL and _was_said(sent, problem):
        return ""
    return answer(sent.event, says=says)


def _was_said(sent: HookInput, problem: str) -> bool:
    """Whether this session was told of it; without a place to note that, it is told again."""
    import tempfile  # noqa: PLC0415 - only for a failure

    key = sha256(f"{sent.fields.get('session_id')}\n{problem}".encode()).hexdigest()[:16]
    mark = Path(tempfile.gettempdir()) / f"acc-ace-hook-{key}"
    try:
        mark.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def main(name: str, project: str | None = None) -> None:
    """Answer one call of a client: its JSON is on stdin, the answer goes to stdout."""
    logging.disable(logging.CRITICAL)  # A client may take stderr for words of ours.
    said = run_hook(name, project, sys.stdin.buffer)
    if said:
        sys.stdout.buffer.write(said.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
