"""One window of the screen, by the system's tool: xdotool and xwd under X11, osascript on macOS.

Under X11 clicks and keys are sent to the window itself, also where another one covers it: a program
may ignore what is sent, and a click that it does not take goes to the frame that holds the window.
On macOS, which asks for its own permissions, the title is that of a process.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from acc_ace.config import inherited
from acc_ace.ext.sandbox.bounded_process import Cancel, Job, run
from acc_ace.ext.sandbox.rights import NotDone

MOST_WINDOWS: Final = 100
_SECONDS, _BYTES = 10.0, 64 * 1024
_VARIABLES: Final = ("DISPLAY", "XAUTHORITY", "PATH", "HOME", "LANG")
"""Variables that a tool is given."""

# Not `mousemove --sync`, which waits for ever where the pointer is there already.
_X11: Final = {
    "ids": "xdotool search --onlyvisible --name .",
    "title": "xdotool getwindowname {window}",
    "screenshot": "xwd -silent -id {window} -out {rest}",
    "click": "xdotool mousemove --window {window} 20 20 click --window {window} 1",
    "type": "xdotool type --window {window} --delay 5 -- {rest}",
}
_CORNER: Final = "set {x, y} to position of window 1"
_SHOT: Final = '"screencapture -x -R" & x & "," & y & "," & w & "," & h & " "'
_MACOS: Final = {
    "titles": ("get name of every window",),
    "screenshot": (
        *(_CORNER, "set {w, h} to size of window 1"),
        f"tell current application to do shell script {_SHOT} & quoted form of (item 2 of argv)",
    ),
    "click": ("set frontmost to true", _CORNER, "click at {x + 20, y + 20}"),
    "type": ("set frontmost to true", "keystroke (item 2 of argv)"),
}


class Windows:
    """The window of a title. Every method raises NotDone."""

    def __init__(self, title: str, platform: str = sys.platform, *, cancel: Cancel = bool) -> None:
        self._title, self._cancel, self._is_macos = title, cancel, platform == "darwin"

    def require(self) -> None:
        """Look for the window."""
        self._window()

    def titles(self) -> list[str]:
        """The titles of what can be seen: all under X11, those of the process on macOS."""
        if self._is_macos:
            return [self._do("titles")]
        return [*self._seen().values()]

    def screenshot(self, file: Path) -> None:
        """Save a picture of the window, in the format of the tool (xwd; PNG on macOS)."""
        self._do("screenshot", str(file))

    def click(self) -> None:
        """Click near its upper left corner."""
        self._do("click")

    def type(self, text: str) -> None:
        """Type a text into it."""
        self._do("type", text)

    def _do(self, name: str, rest: str = "") -> str:
        if self._is_macos:
            process = 'tell application "System Events" to tell process (item 1 of argv)'
            lines = ("on run argv", process, *_MACOS[name], "end tell", "end run")
            script = [word for line in lines for word in ("-e", line)]
            return self._run(name, "osascript", *script, "--", self._title, rest)
        return self._x11(name, self._window(), rest)

    def _window(self) -> str:
        """The number of the window; the answer on macOS, where there is none."""
        if self._is_macos:
            return self._do("titles")
        own = [number for number, title in self._seen().items() if title == self._title]
        if len(own) != 1:
            raise NotDone(f"{len(own)} windows are titled {self._title!r}; there has to be one")
        return own[0]

    def _seen(self) -> dict[str, str]:
        """The titles of the windows by their numbers."""
        numbers, titles = self._x11("ids").split(), dict[str, str]()
        if len(numbers) > MOST_WINDOWS:
            raise NotDone(f"there are more than {MOST_WINDOWS} windows")
        for number in numbers:
            with suppress(NotDone):  # One that is closed meanwhile has no title.
                titles[number] = self._x11("title", number).rstrip("\n")
        return titles

    def _x11(self, name: str, window: str = "", rest: str = "") -> str:
        values = {"{window}": window, "{rest}": rest}
        return self._run(name, *(values.get(word, word) for word in _X11[name].split()))

    def _run(self, name: str, *words: str) -> str:
        """Run a tool; what it complains of is why it is not done."""
        try:
            end = run(Job(words, _SECONDS, _BYTES, env=inherited(*_VARIABLES)), self._cancel)
        except OSError as error:
            missing = f"{words[0]} cannot be run: {error.strerror}"
            raise NotDone(f"{missing} (apt-get install xdotool x11-apps)") from error
        if end.code or end.killed_for:
            why = f"more {end.killed_for} than it may" if end.killed_for else end.complaint
            raise NotDone(f"{name} of {self._title!r}: {why or f'exit code {end.code}'}")
        return end.stdout.decode("utf-8", "replace")
