"""An executable in place of the Claude Code CLI, with the behaviour that a test writes into it."""

import json
import sys
from pathlib import Path
from typing import Any

HEAD = f"#!{sys.executable} -IS\n"

OBEYS = """
import json, os, sys
seen = {"argv": sys.argv[1:], "stdin": sys.stdin.read(), "env": dict(os.environ)}
seen |= {"cwd": os.getcwd(), "files": os.listdir()}
open(NOTED, "w").write(json.dumps(seen))
print(json.dumps(PRINTED))
"""
"""Notes what it was given, prints a result."""

FORKS = """
import os, signal, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(NOTED, "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists(NOTED) or not open(NOTED).read():
    time.sleep(0.01)
"""
"""Leaves a child that keeps the pipes open and ignores SIGTERM."""


def result(text: str = "Hello.", **more: Any) -> dict[str, Any]:
    """What the CLI prints for a call that went well."""
    usage = {"input_tokens": 20, "output_tokens": 7, "cache_read_input_tokens": 100}
    usage |= {"cache_creation_input_tokens": 3, "server_tool_use": 0}
    own = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1}
    return {**own, "result": text, "total_cost_usd": 0.0123, "usage": usage, **more}


def fake_claude(folder: Path, code: str = OBEYS, printed: object = None) -> Path:
    """The executable; what it notes is in the file `noted` beside it."""
    path, noted = folder / "claude", folder / "noted"
    shown = result() if printed is None else printed
    path.write_text(f"{HEAD}NOTED, PRINTED = {str(noted)!r}, {shown!r}\n{code}", encoding="utf-8")
    path.chmod(0o755)
    return path


def noted(executable: Path) -> Any:
    """What the executable noted."""
    return json.loads((executable.parent / "noted").read_text(encoding="utf-8"))
