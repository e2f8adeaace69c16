"""One window of the screen, by the system's tool: xdotool and xwd under X11, osascript on macOS.

Nothing but the window of a title is looked at, clicked or typed in. On macOS, which asks for its
own permissions, the title is that of a process.
"""

import re
import sys
from pathlib import Path
from threading import Event
from typing import Final

from acc_ace.config import inherited
from acc_ace.ext.sandbox.bounded_process import Job, run
from acc_ace.ext.sandbox.rights import NotDone

_SECONDS, _BYTES = 10.0, 64 * 1024
_VARIABLES: Final = ("DISPLAY", "XAUTHORITY", "PATH", "HOME", "LANG")
"""Variables that a tool is given."""


def _words(line: str) -> list[str]:
    return line.split()


_WINDOW: Final = "xdotool search --onlyvisible --limit 1 --name {exactly}"
# Not `mousemove --sync`, which waits for ever where the pointer is there already.
_X11: Final = {
    "list": _words("xdotool search --onlyvisible --name . getwindowname %@"),
    "screenshot": _words("xwd -silent -name {title} -out {rest}"),
    "click": _words(f"{_WINDOW} mousemove --window %1 20 20 click 1"),
    "type": _words(f"{_WINDOW} windowfocus --sync %1 type --delay 5 -- {{rest}}"),
}


def _osascript(*lines: str) -> list[str]:
    told = ('tell application "System Events" to tell process (item 1 of argv)', *lines)
    whole = ("on run argv", *told, "end tell", "end run")
    return ["osascript", *(word for line in whole for word in ("-e", line)), "{title}", "{rest}"]


_CORNER: Final = "set {x, y} to position of window 1"
_SHOT: Final = '"screencapture -x -R" & x & "," & y & "," & w & "," & h & " "'
_MACOS: Final = {
    "list": _osascript("get name of every window"),
    "screenshot": _osascript(
        *(_CORNER, "set {w, h} to size of window 1"),
        f"tell current application to do shell script {_SHOT} & quoted form of (item 2 of argv)",
    ),
    "click": _osascript("set frontmost to true", _CORNER, "click at {x + 20, y + 20}"),
    "type": _osascript("set frontmost to true", "keystroke (item 2 of argv)"),
}


class Windows:
    """The window of a title. Every method raises NotDone."""

    def __init__(self, title: str, platform: str = sys.platform) -> None:
        self._title = title
        self._commands = _MACOS if platform == "darwin" else _X11

    def titles(self) -> str:
        """The titles of what can be seen, a line each; all of them under X11."""
        return self._run("list")

    def screenshot(self, file: Path) -> None:
        """Save a picture of the window, in the format of the tool (xwd; PNG on macOS)."""
        self._run("screenshot", str(file))

    def click(self) -> None:
        """Click near its upper left corner."""
        self._run("click")

    def type(self, text: str) -> None:
        """Type a text into it."""
        self._run("type", text)

    def _run(self, name: str, rest: str = "") -> str:
        """Run a command of the table; what it complains of is why it is not done."""
        filled = {"{title}": self._title, "{exactly}": f"^{re.escape(self._title)}$"}
        words = tuple((filled | {"{rest}": rest}).get(word, word) for word in self._commands[name])
        try:
            end = run(Job(words, _SECONDS, _BYTES, env=inherited(*_VARIABLES)), Event())
        except OSError as error:
            raise NotDone(f"{words[0]} cannot be run: {error.strerror}") from error
        if end.code or end.killed_for:
            why = f"more {end.killed_for} than it may" if end.killed_for else end.complaint
            raise NotDone(f"{name} of {self._title!r}: {why or 'is the window shown?'}")
        return end.stdout.decode("utf-8", "replace")
