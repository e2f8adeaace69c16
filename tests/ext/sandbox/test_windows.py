"""The window of a title: by the tools of X11 on a virtual display, and by a stand-in of macOS."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acc_ace.ext.sandbox import windows
from acc_ace.ext.sandbox.rights import NotDone, WorkLog
from acc_ace.ext.sandbox.windows import Windows
from acc_ace.ext.sandbox.workspace import PICTURE
from tests.ext.sandbox.lent_folder import SECRET, TITLE, Life, lend, rows_of
from tests.ext.sandbox.test_claude_cli import is_alive

PACKAGES = {
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "xwd": "x11-apps",
    "xev": "x11-utils",
    "xprop": "x11-utils",
}


def require_screen() -> None:
    """Skip the test that asks, without a virtual display and what works on it."""
    for tool, package in PACKAGES.items():
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (apt-get install {package})")


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """A virtual display of this module's own."""
    require_screen()
    reader, writer = os.pipe()
    command = [shutil.which("Xvfb") or "", "-displayfd", str(writer), "-screen", "0", "640x480x24"]
    server = subprocess.Popen(  # noqa: S603 - found above
        [*command, "-nolisten", "tcp", "-noreset"],
        pass_fds=(writer,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as told:
            number = told.readline().strip()
        if not number:
            pytest.skip("no virtual display can be started here")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


class Window:
    """A small window that prints what happens to it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def text(self) -> str:
        """What it has printed."""
        return self._file.read_text("utf-8", errors="replace")

    @property
    def clicks(self) -> list[tuple[int, int]]:
        """Where it was clicked."""
        found = re.findall(r"ButtonPress event.*\n.*?\((\d+),(\d+)\), root", self.text)
        return [(int(x), int(y)) for x, y in found]

    @property
    def keys(self) -> str:
        """What was typed into it."""
        pressed = re.findall(r"KeyPress event.*\n(?:    .*\n)*", self.text)
        texts = (re.search(r'XLookupString gives .*\) "(.*)"\n', each) for each in pressed)
        return "".join(text[1] for text in texts if text)

    def wait(self, until: Callable[["Window"], object]) -> None:
        """Wait for it to print what happened."""
        end = time.monotonic() + 30
        while not until(self) and time.monotonic() < end:
            time.sleep(0.02)


Opens = Callable[..., Window]


@pytest.fixture
def opens(display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opens]:
    """Opens windows by their titles, on the display that the test works on."""
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("XAUTHORITY", raising=False)
    subprocess.run([shutil.which("xdotool") or "", "mousemove", "600", "400"], check=True)  # noqa: S603
    with ExitStack() as left:
        count = iter(range(100))

        def open_one(title: str = TITLE, geometry: str = "150x120+40+50") -> Window:
            file = tmp_path / f"xev-{next(count)}"
            return left.enter_context(_window(title, geometry, file))

        yield open_one


@contextmanager
def _window(title: str, geometry: str, file: Path) -> Iterator[Window]:
    first = title if title.isascii() else "x"
    command = [shutil.which("xev") or "", "-name", first, "-geometry", geometry]
    with file.open("wb") as printed:
        process = subprocess.Popen(command, stdout=printed)  # noqa: S603 - found above
    window = Window(file)
    try:
        window.wait(lambda it: "MapNotify event" in it.text and "Expose event" in it.text)
        assert "MapNotify event" in window.text
        if first != title:
            _name(re.findall(r"Outer window is (0x\w+)", window.text)[0], title)
        yield window
    finally:
        process.kill()
        process.wait()


def _name(number: str, title: str) -> None:
    """Give a window a title in UTF-8, as the programs of today do; xev writes Latin-1 alone."""
    for name in ("WM_NAME", "_NET_WM_NAME"):
        command = [shutil.which("xprop") or "", "-id", number, "-f", name, "8u", "-set", name]
        subprocess.run([*command, title], check=True)  # noqa: S603 - found


def picture_of(path: Path) -> tuple[int, int, str]:
    """Width, height and title of a picture that xwd has made."""
    content = path.read_bytes()
    header = struct.unpack(">25I", content[:100])
    assert header[1] == 7
    return header[4], header[5], content[100 : header[0]].rstrip(b"\0").decode()


# On a virtual display


def test_the_titles_of_what_can_be_seen_are_listed(opens: Opens) -> None:
    opens()
    opens("Another one", "100x100+300+200")
    assert sorted(Windows(TITLE, "linux").titles()) == [TITLE, "Another one"]


def test_a_picture_is_of_the_window_alone(opens: Opens, tmp_path: Path) -> None:
    opens()
    opens("Another one", "100x100+300+200")
    Windows(TITLE, "linux").screenshot(tmp_path / "picture")
    width, height, title = picture_of(tmp_path / "picture")
    assert title == TITLE
    assert (150 <= width <= 160, 120 <= height <= 130) == (True, True)


def test_a_click_reaches_the_window(opens: Opens) -> None:
    window, other = opens(), opens("Another one", "100x100+300+200")
    Windows(TITLE, "linux").click()
    window.wait(lambda it: it.clicks)
    assert window.clicks == [(20, 20)]
    assert other.clicks == []


def test_a_window_can_be_clicked_twice(opens: Opens) -> None:
    window, act = opens(), Windows(TITLE, "linux")
    act.click()
    act.click()
    window.wait(lambda it: len(it.clicks) == 2)
    assert window.clicks == [(20, 20)] * 2


@pytest.mark.parametrize("text", ["survivor 12", "-- -e $(id) `id` \\n %1 ; key Return"])
def test_what_is_typed_arrives_as_it_is(opens: Opens, text: str) -> None:
    window, other = opens(), opens("Another one", "100x100+300+200")
    Windows(TITLE, "linux").type(text)
    window.wait(lambda it: len(it.keys) >= len(text))
    assert window.keys == text
    assert other.keys == ""


def test_a_window_that_covers_it_is_not_clicked(opens: Opens) -> None:
    window = opens()
    above = opens("What covers it", "200x200+30+40")
    act = Windows(TITLE, "linux")
    try:
        act.click()
    except NotDone:
        pass
    else:
        window.wait(lambda it: it.clicks or above.clicks)
    assert above.clicks == []


TITLES = ["a.b (1) [x]*", "-root", "'\"$(id)`id`\\", "名前 é", "%1 {rest}", "^$", "x" * 300]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_is_taken_by_its_letters(opens: Opens, tmp_path: Path, title: str) -> None:
    window, act = opens(title), Windows(title, "linux")
    assert act.titles() == [title]
    act.screenshot(tmp_path / "picture")
    assert picture_of(tmp_path / "picture")[:2] <= (160, 130)
    act.click()
    act.type("typed")
    window.wait(lambda it: it.clicks and len(it.keys) >= 5)
    assert (len(window.clicks), window.keys) == (1, "typed")


@pytest.mark.parametrize(
    ("shown", "asked"),
    [
        ("Editor - private", "Editor"),
        ("My Editor", "Editor"),
        ("aXb", "a.b"),
        ("editor", "Editor"),
        ("anything", ".*"),
    ],
)
def test_a_window_of_another_title_is_left_alone(
    opens: Opens, tmp_path: Path, shown: str, asked: str
) -> None:
    window, act = opens(shown), Windows(asked, "linux")
    acts: list[Callable[[], object]] = [act.click, partial(act.type, "typed")]
    acts.append(partial(act.screenshot, tmp_path / "picture"))
    for do in acts:
        with pytest.raises(NotDone):
            do()
    assert not (tmp_path / "picture").exists()
    # What is typed into the window itself comes after what was typed before.
    Windows(shown, "linux").type("end")
    window.wait(lambda it: it.keys.endswith("end"))
    assert (window.clicks, window.keys) == ([], "end")


def test_a_window_that_is_not_shown_is_said_to_be_missing(opens: Opens, tmp_path: Path) -> None:
    opens("Another one")
    act = Windows(TITLE, "linux")
    with pytest.raises(NotDone, match=f"0 windows are titled '{TITLE}'"):
        act.click()
    with pytest.raises(NotDone, match=f"0 windows are titled '{TITLE}'"):
        act.screenshot(tmp_path / "picture")


def test_an_act_of_a_life_lists_shows_clicks_and_types(opens: Opens, tmp_path: Path) -> None:
    window, lent = opens(), tmp_path / "lent"
    lent.mkdir()
    log = WorkLog(tmp_path / "data")
    lend(log, lent, "gui")
    kind, touch, text = Life(log).use("gui")
    assert text == f"{kind} (gui) done: windows: {TITLE}"
    assert touch.kind == kind
    window.wait(lambda it: re.fullmatch(r"survivor \d+", it.keys))
    assert window.clicks == [(20, 20)]
    assert re.fullmatch(r"survivor \d+", window.keys)
    assert picture_of(lent / PICTURE)[2] == TITLE
    assert [path.name for path in lent.iterdir()] == [PICTURE]
    [row] = rows_of(tmp_path / "data")
    assert (row.right, row.outcome, row.shown) == ("gui", "done", f"windows: {TITLE}")


def test_two_acts_of_a_life_on_a_window_go_well(opens: Opens, tmp_path: Path) -> None:
    window, lent = opens(), tmp_path / "lent"
    lent.mkdir()
    log = WorkLog(tmp_path / "data")
    lend(log, lent, "gui")
    life = Life(log)
    texts = [life.use("gui").text for _ in range(2)]
    assert all(" (gui) done: " in text for text in texts)
    window.wait(lambda it: len(it.clicks) == 2)
    assert len(window.clicks) == 2


def test_without_a_window_an_act_fails_harms_and_leaves_no_picture(
    opens: Opens, tmp_path: Path
) -> None:
    opens("Another one")
    lent = tmp_path / "lent"
    lent.mkdir()
    log = WorkLog(tmp_path / "data")
    lend(log, lent, "gui")
    kind, touch, text = Life(log).use("gui")
    assert f"{kind} (gui) failed: 0 windows are titled '{TITLE}'" in text
    assert touch == (kind, -4, 0, 0)
    assert list(lent.iterdir()) == []


# Tools that are missing or bad


def tool(folder: Path, name: str, code: str) -> Path:
    """An executable in place of a tool."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\n{code}", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("platform", "name"), [("linux", "xdotool"), ("darwin", "osascript")])
def test_a_tool_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, name: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    act = Windows(TITLE, platform)
    for do in (act.titles, act.click, lambda: act.type("typed")):
        with pytest.raises(NotDone, match=f"{name} cannot be run: No such file"):
            do()


def test_without_a_display_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_screen()
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(NotDone, match=f"ids of '{TITLE}': .*isplay"):
        Windows(TITLE, "linux").titles()
    with pytest.raises(NotDone, match=f"ids of '{TITLE}': .*isplay"):
        Windows(TITLE, "linux").screenshot(tmp_path / "picture")


HANGS = """
import os, time
if os.fork() == 0:
    open(NOTED, "w").write(str(os.getpid()))
time.sleep(600)
"""


def test_a_tool_that_hangs_is_ended_with_its_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "noted"
    # The child is given time to note its number on a busy machine.
    monkeypatch.setattr(windows, "_SECONDS", 3.0)
    tool(tmp_path / "bin", "xdotool", f"NOTED = {str(noted)!r}\n{HANGS}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NotDone, match=f"ids of '{TITLE}': more seconds than it may"):
        Windows(TITLE, "linux").click()
    child = int(noted.read_text("utf-8"))
    end = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_alive(child)


def test_a_tool_that_prints_endlessly_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(tmp_path / "bin", "xdotool", "while True: print('x' * 10_000)")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NotDone, match="more bytes than it may"):
        Windows(TITLE, "linux").titles()


# On macOS, whose tools are others here


OSASCRIPT = """
import json, os, sys
words, script = sys.argv[1:], []
while words and words[0].startswith("-") and len(words[0]) > 1:
    option = words.pop(0)
    if option == "--":
        break
    if option == "-e":
        script.append(words.pop(0))
    elif option.startswith("-e"):
        script.append(option[2:])
    else:
        script.append("OPTION " + option)
told = {"argv": sys.argv[1:], "script": script, "arguments": words, "env": dict(os.environ)}
with open(NOTED, "a") as notes:
    notes.write(json.dumps(told) + "\\n")
print("one, two")
"""
"""Reads its words as osascript does: options first, then what the script is given."""


class Mac:
    """An executable in place of osascript, and what it was told."""

    def __init__(self, folder: Path) -> None:
        self._noted = folder / "noted"
        tool(folder, "osascript", f"NOTED = {str(self._noted)!r}\n{OSASCRIPT}")

    def told(self) -> Any:
        """The last call."""
        return json.loads(self._noted.read_text("utf-8").splitlines()[-1])


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Mac(tmp_path / "bin")


def acts_of(title: str, picture: Path) -> dict[str, Callable[[], object]]:
    act = Windows(title, "darwin")
    return {
        "titles": act.titles,
        "screenshot": lambda: act.screenshot(picture),
        "click": act.click,
        "type": lambda: act.type("survivor 12"),
    }


PARTS = {
    "titles": ("name of every window",),
    "screenshot": ("screencapture -x -R", "quoted form of (item 2 of argv)"),
    "click": ("click at {x + 20, y + 20}", "position of window 1"),
    "type": ("keystroke (item 2 of argv)",),
}


@pytest.mark.parametrize("name", PARTS)
def test_the_tool_of_macos_is_told_the_act_and_given_title_and_words_beside_it(
    mac: Mac, tmp_path: Path, name: str
) -> None:
    acts_of(TITLE, tmp_path / "picture")[name]()
    told, script = mac.told(), "\n".join(mac.told()["script"])
    rest = {"screenshot": str(tmp_path / "picture"), "type": "survivor 12"}.get(name, "")
    assert told["arguments"] == [TITLE, rest]
    assert told["script"][0] == "on run argv"
    assert told["script"][-1] == "end run"
    assert 'tell application "System Events" to tell process (item 1 of argv)' in script
    for part in PARTS[name]:
        assert part in script
    for other, parts in PARTS.items():
        assert other == name or parts[0] not in script


MAC_TITLES = [
    '" & do shell script "touch /tmp/pwned" & "',
    "'; touch pwned; '",
    "end tell\nend run\non run",
    "-e",
    "-edo shell script",
    "-l",
    "--",
    "{rest}",
    "{title}",
]


@pytest.mark.parametrize("title", MAC_TITLES)
def test_no_title_becomes_script_or_an_option_of_macos(
    mac: Mac, tmp_path: Path, title: str
) -> None:
    scripts = {}
    for name, do in acts_of("Notes", tmp_path / "picture").items():
        do()
        scripts[name] = mac.told()["script"]
    for name, do in acts_of(title, tmp_path / "picture").items():
        do()
        told = mac.told()
        assert told["script"] == scripts[name]
        assert told["arguments"][0] == title


def test_what_macos_prints_is_returned_and_what_it_complains_of_is_why(
    mac: Mac, tmp_path: Path
) -> None:
    assert Windows(TITLE, "darwin").titles() == ["one, two\n"]
    complaint = "import sys\nsys.exit('execution error: not allowed assistive access (-1719)')"
    tool(tmp_path / "bin", "osascript", complaint)
    for name, do in acts_of(TITLE, tmp_path / "picture").items():
        with pytest.raises(NotDone, match=f"{name} of '{TITLE}': .*not allowed assistive access"):
            do()


def test_a_tool_is_given_no_secret_of_the_environment(
    mac: Mac, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", SECRET)
    monkeypatch.setenv("GOOGLE_API_KEY", SECRET)
    Windows(TITLE, "darwin").click()
    told = mac.told()
    assert SECRET not in json.dumps(told)
    assert "PATH" in told["env"]
