"""A coding agent as a test has it: its settings file, the hooks in there, and recorded inputs."""

import json
import os
import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.e2e.processes import BIN, ROOT

INPUTS: Final = ROOT / "tests" / "data" / "hook_inputs"
CLIENTS: Final = ("claude-code", "codex", "gemini-cli")
WAIT_S: Final = 60.0

SETTINGS: Final = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "gemini-cli": (".gemini/settings.json",),
}
"""Where each client reads the hooks of a project."""


@dataclass(frozen=True)
class Heard:
    """What the hooks of one event answered together."""

    event: str
    codes: tuple[int, ...]
    outputs: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The outputs that are JSON objects."""
        parsed = [_parsed(each) for each in self.outputs]
        return [each for each in parsed if isinstance(each, dict)]

    @property
    def decision(self) -> str:
        """`deny`, `ask` or `pass`, the strictest of all, as the clients read it."""
        words = {"deny" for code in self.codes if code == 2}
        for each in self.answers:
            own = each.get("hookSpecificOutput") or {}
            words |= {str(own.get("permissionDecision")), str(each.get("decision"))}
            words |= {"deny" for value in (each.get("continue"),) if value is False}
        if words & {"deny", "block"}:
            return "deny"
        return "ask" if "ask" in words else "pass"

    @property
    def reason(self) -> str:
        """What the person or the model reads about a decision."""
        parts = [error for code, error in zip(self.codes, self.errors, strict=True) if code == 2]
        for each in self.answers:
            own = each.get("hookSpecificOutput") or {}
            parts += [str(own.get("permissionDecisionReason") or ""), str(each.get("reason") or "")]
        return "\n".join(parts)

    @property
    def context(self) -> str:
        """What the model is given to read."""
        own = [each.get("hookSpecificOutput") or {} for each in self.answers]
        parts = [str(each.get("additionalContext") or "") for each in own]
        if self.event in {"SessionStart", "UserPromptSubmit"}:
            parts += [each for each in self.outputs if not isinstance(_parsed(each), dict)]
        return "\n".join(parts)

    def is_calm(self) -> bool:
        """No traceback, and the client goes on with what it was doing."""
        text = "".join((*self.outputs, *self.errors))
        return "Traceback" not in text and self.decision == "pass" and set(self.codes) <= {0, 1}


@dataclass(frozen=True)
class Project:
    """A project's folder of somebody who uses a coding agent."""

    client: str
    folder: Path
    home: Path
    settings: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """What a shell of this person has; no setting of ours beyond those of the test."""
        names = ("LANG", "PYTHONPATH", "SSL_CERT_FILE")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        folders = {f"{name}_PROJECT_DIR": str(self.folder) for name in ("CLAUDE", "GEMINI")}
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        return {**kept, "PATH": path, "HOME": str(self.home), **folders, **self.settings}

    def command(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """`acc-ace` in this folder."""
        return subprocess.run(  # noqa: S603 - our own command
            [str(BIN / "acc-ace"), *args],
            cwd=self.folder,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT_S,
            check=False,
        )

    def install(self) -> "Project":
        """`acc-ace hook install CLIENT`, which must work."""
        ended = self.command("hook", "install", self.client)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return self

    def remove(self) -> None:
        """`acc-ace hook remove CLIENT`, which must work."""
        ended = self.command("hook", "remove", self.client)
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def files(self) -> dict[str, bytes]:
        """Every file of the project, of its `.git` and of the home, without our own data."""
        return {
            str(path): path.read_bytes()
            for root in (self.folder, self.home)
            for path in root.rglob("*")
            if path.is_file() and ".acc_ace" not in path.parts
        }

    def hooks(self, event: str, matched: str = "") -> list[str]:
        """Commands of ours that this client would run, with what the event is matched by."""
        lines = []
        for group in self._groups(event):
            matcher = group.get("matcher") or ""
            if matcher in {"", "*"} or re.fullmatch(matcher, matched):
                lines += [each["command"] for each in group["hooks"] if is_ours(each)]
        return lines

    def all_hooks(self) -> list[str]:
        """Every command of ours in the settings, whatever the event."""
        return [each["command"] for each in self._entries() if is_ours(each)]

    def tell(self, name: str, **changed: object) -> Heard:
        """Run our hooks with a recorded input, as the client does it; some fields are changed."""
        return self.say({**recorded(self.client, name), **changed})

    def say(self, told: dict[str, Any]) -> Heard:
        """Run our hooks of an event."""
        text = json.dumps(told, ensure_ascii=False)
        text = text.replace("/project", str(self.folder)).replace("/home/user", str(self.home))
        event = str(told.get("hook_event_name", ""))
        matched = str(told.get("tool_name") or told.get("source") or told.get("trigger") or "")
        return self.run(self.hooks(event, matched), text.encode(), event)

    def run(self, commands: list[str], raw: bytes, event: str = "") -> Heard:
        """Run hook commands over these very bytes."""
        # Gemini CLI puts the quoted folder into the text itself; no shell does it.
        folder = shlex.quote(str(self.folder))
        commands = [each.replace("$GEMINI_PROJECT_DIR", folder) for each in commands]
        ended = [
            subprocess.run(  # noqa: S603 - the command that our own install wrote
                ["/bin/sh", "-c", each],
                cwd=self.folder,
                env=self.environment(),
                input=raw,
                capture_output=True,
                timeout=WAIT_S,
                check=False,
            )
            for each in commands
        ]
        return Heard(
            event,
            tuple(each.returncode for each in ended),
            tuple(each.stdout.decode() for each in ended),
            tuple(each.stderr.decode() for each in ended),
        )

    def prompt(self, text: str) -> Heard:
        """The user says something."""
        name = "before_agent_with_a_rule" if self.client == "gemini-cli" else "prompt_with_a_rule"
        return self.tell(name, prompt=text)

    def compacted(self) -> str:
        """What the model reads of us after a compaction."""
        if self.client != "gemini-cli":
            return self.tell("session_start_compact").context
        self.tell("pre_compress_manual")
        return self.prompt("Go on, please.").context

    def shell(self, line: str) -> Heard:
        """The model wants to run a line in the shell."""
        name = "before_tool_shell" if self.client == "gemini-cli" else "pre_tool_bash"
        return self.tell(name, tool_input={"command": line})

    def _entries(self) -> list[dict[str, Any]]:
        events = [name for each in self._parsed_settings() for name in each.get("hooks", {})]
        groups = [group for name in dict.fromkeys(events) for group in self._groups(name)]
        return [each for group in groups for each in group.get("hooks", ())]

    def _groups(self, event: str) -> list[dict[str, Any]]:
        parsed = [each.get("hooks", {}).get(event, []) for each in self._parsed_settings()]
        return [group for groups in parsed for group in groups if isinstance(group, dict)]

    def _parsed_settings(self) -> list[dict[str, Any]]:
        paths = [self.folder / each for each in SETTINGS[self.client]]
        return [_read(path) for path in paths if path.is_file()]


def project(client: str, folder: Path, **settings: str) -> Project:
    """An empty project and an empty home."""
    for name in ("project", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return Project(client, folder / "project", folder / "home", settings)


def installed(client: str, folder: Path) -> Project:
    """A project with our hooks, as `acc-ace hook install` once wrote them for another."""
    made = project(client, folder)
    for name, content in _written_by_install(client).items():
        path = made.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return made


@cache
def _written_by_install(client: str) -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        made = project(client, Path(folder)).install()
        paths = [each for each in made.folder.rglob("*") if each.is_file()]
        return {str(each.relative_to(made.folder)): each.read_bytes() for each in paths}


def recorded(client: str, name: str) -> dict[str, Any]:
    """An input as the client wrote it."""
    told: dict[str, Any] = json.loads((INPUTS / client / f"{name}.json").read_text("utf-8"))
    return told


def named(client: str, name: str) -> str:
    """The file of a prompt or of a tool call, which one client calls otherwise."""
    if client != "gemini-cli":
        return name
    return name.replace("pre_tool", "before_tool").replace("prompt", "before_agent")


def rules_part(context: str) -> str:
    """What stands under a heading of rules; all of it where there are no headings.

    A state may well quote what somebody asked last; only as a rule it must not come back.
    """
    blocks = re.split(r"(?m)^(?=#|<\w|[^\n:]{1,80}:[ \t]*$)", context)
    headed = [each for each in blocks if re.match(r"#|<\w|[^\n:]{1,80}:[ \t]*(\n|$)", each)]
    if not headed:
        return context
    named_so = re.compile(r"rule|constraint|ルール|制約", re.IGNORECASE)
    return "\n".join(each for each in headed if named_so.search(each.partition("\n")[0]))


def is_ours(entry: dict[str, Any]) -> bool:
    """Whether an entry runs our command."""
    return bool(re.search(r"acc[-_]ace", str(entry.get("command", ""))))


def _read(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    parsed: dict[str, Any] = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return parsed


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
