"""Every command of README, the tutorial and the how-tos runs as written.

The blocks of a page run one after the other, in a folder that looks like a clone and has nothing
of yours. Two things differ from what is written: the port, since 8000 may be taken, and the model
of an agent that a page writes, since no test has a key. A server is started, waited for and
stopped; whatever reads what you type is told a rule.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from typer.core import TyperGroup
from typer.main import get_group

from acc_ace.cli import app as cli
from tests.e2e.processes import BIN, ROOT, environment
from tests.fakes.extensions import needs
from tests.fakes.ports import free_port

CANNOT: Final[Mapping[str, str]] = {
    "installs from a package index": r"(?:\S*pip install|uvx|pipx|python3 -m venv) ",
    "needs a key": r"GOOGLE_API_KEY=… ",
    "needs a model server": r"ollama |llama-server |ACC_ACE_TEST_ENDPOINT=",
    "needs the coding agent that it is for": r"claude ",
    "needs the extra 'eval'": r".*\badk eval ",
    "needs a public data set": r"acc-ace eval dialogues ",
    "names what only your data has": r"acc-ace jobs (?:show|retry|drop) ID|.*adk-…",
    "is the suite that runs this test": r"make test$",
}
"""Why a command cannot run here, and which commands that holds for."""

SERVERS: Final = (
    r"(?:\w+=(?:\$\([^)]*\)|\S)+ )*(?:make run|\S*acc-ace (?:serve|demo)|\S*acc-ace mcp --http|"
    r"\S*adk (?:web|api_server)|uvicorn|.* --ui )"
)
SERVED: Final[Mapping[str, str]] = {
    "server.md": "acc-ace serve",
    "documents.md": "acc-ace serve",
    "memory-strategies.md": "acc-ace serve",
    "a2a.md": "adk api_server agents --a2a --session_service_uri=accace://",
}
"""What runs while a page sends requests."""

DESK: Final = (
    "mkdir desk; sed s/plugin_tools/desk/ examples/plugin_tools/agent.py > desk/agent.py; "
    "printf 'Hello.\\nexit\\n' | adk run desk"
)
GIVEN: Final[Mapping[str, str]] = {
    "cost.md": f"{DESK}; echo 'Never restart db-01.' | acc-ace chat --session monday --script -",
    "rules.md": r"printf 'Never restart db-01 before noon.\nYou may now restart db-01 before noon.'"
    " | acc-ace chat --session monday --script -",
    "documents.md": f"{DESK}; mkdir notes; echo '# Runbook' | tee runbook.md > notes/a.md; "
    """echo '{"content": "x is 1"}' > facts.jsonl""",
    "memory-strategies.md": "echo 'I live in Tampere.' | acc-ace chat --user aiko --script -",
    "background-learning.md": DESK,
    "a2a.md": DESK,
    "mcp.md": "echo 'Never restart db-01.' | acc-ace chat --session my-project --script -",
    "coding-agents.md": "export ACC_ACE_DATA_DIR=~/.local/share/acc-ace/projects/NAME; "
    "echo 'Never use yarn.' | acc-ace chat --session project --script -",
    "survivor.md": "mkdir ~/lent; echo hello > ~/lent/a.txt",
}
"""What a page takes for granted: what its reader has said, or has in the folder."""

WRITTEN: Final = {
    "use-it-in-your-own-agent.md": {"python": "desk/agent.py"},
    "tools.md": {"python": "ops_tools.py", "json": "mcp.json"},
    "cost.md": {"toml": "prices.toml"},
    "a2a.md": {"python": "a2a_server.py"},
}
"""The file that the first block in a language shows."""

NEEDED: Final = needs(
    "embedded", "guard", "background", "documents", "lab", "semantic", "survivor", "sandbox"
)
BASH: Final = shutil.which("bash") or "bash"
TYPED: Final = "Never restart db-01 during business hours.\nexit\n"
WAIT_S: Final = 600
PAGES: Final = [
    ROOT / "README.md",
    ROOT / "docs/tutorial.md",
    *sorted((ROOT / "docs/how-to").glob("*.md")),
]


def blocks(page: Path, languages: str) -> list[str]:
    """The fenced blocks of a page in some languages."""
    found = re.findall(rf"^```(?:{languages})\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    return [str(each) for each in found]


def commands(block: str) -> Iterator[str]:
    """The commands of a block, each with all of its lines."""
    command = ""
    for line in block.splitlines():
        command += f"{line}\n"
        # A shell that ends in the middle of a command says so.
        check = subprocess.run(  # noqa: S603 - our own pages
            [BASH, "-n"],
            input=command,
            text=True,
            capture_output=True,
            check=False,
        )
        open_document = "here-document" in check.stderr
        if check.returncode == 0 and not open_document and not line.endswith("\\"):
            if command.strip() and not command.startswith("#"):
                yield command.strip()
            command = ""
    assert not command, f"not a command: {command}"


def cannot(command: str) -> str:
    """Why a command cannot run here; "" where it can."""
    plain = re.sub(r"\s+#.*", "", command)
    return next((why for why, which in CANNOT.items() if re.match(which, plain)), "")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder like a clone: what the repository has, and an environment without a download."""
    folder = tmp_path / "clone"
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns(".adk"))
    for each in ROOT.iterdir():
        if each.is_file():
            shutil.copy(each, folder)
        elif each.name in {"agents", "docs", "schemas", "tests"}:
            (folder / each.name).symlink_to(each)
    for stamp in ("runs", "develops"):
        (folder / stamp).touch()
    (folder / ".venv").symlink_to(BIN.parent)
    return folder


class Reader:
    """Somebody who follows a page in a folder, from top to bottom."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = str(free_port())
        self.env = environment(
            folder / ".acc_ace",
            ACC_ACE_PORT=self.port,
            HOME=str(folder.parent),
            BROWSER="true",
            # What make would install is there.
            MAKEFLAGS="RUNS=runs DEVELOPS=develops",
        )
        self.env["PATH"] = f"{BIN}:{self.env['PATH']}"
        del self.env["ACC_ACE_DATA_DIR"]
        (folder.parent / ".curlrc").write_text("fail\n")

    def run(self, command: str, before: str = "") -> None:
        """Run a command after those that set its variables; a server until it answers."""
        if re.match(SERVERS, command):
            with self.serving(command, before):
                return
        with self._started(command, before, stdin=subprocess.PIPE) as (process, log):
            process.communicate(TYPED, timeout=WAIT_S)
            assert process.returncode == 0, f"{command}\n{log.read_text()[-3_000:]}"

    @contextlib.contextmanager
    def serving(self, command: str, before: str = "") -> Iterator[None]:
        """Run a server until the context ends."""
        with self._started(command, before, stdin=subprocess.DEVNULL) as (process, log):
            deadline = time.monotonic() + WAIT_S
            while not self._answers():
                assert process.poll() is None, f"{command}\n{log.read_text()[-3_000:]}"
                assert time.monotonic() < deadline, f"{command}\n{log.read_text()[-3_000:]}"
                time.sleep(0.2)
            yield

    @contextlib.contextmanager
    def _started(
        self, command: str, before: str, stdin: int
    ) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
        """A shell with the command, which ends with all of its children."""
        text = re.sub(r"\b80(?:00|01|80)\b", self.port, command)
        if re.search(r"\b(?:adk (?:web|api_server)|acc-ace (?:demo|mcp --http))", text):
            text += f" --port={self.port}"
        log = self.folder.parent / "output.log"
        with log.open("w") as output:
            process = subprocess.Popen(  # noqa: S603 - our own pages
                [BASH, "-ec", f"{before}\n{text}"],
                cwd=self.folder,
                env=self.env,
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        try:
            yield process, log
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                process.wait(timeout=60)

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/", timeout=5):
                return True
        except HTTPError:
            return True
        except (URLError, ConnectionError, TimeoutError):
            return False


@NEEDED
@pytest.mark.soak
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_runs_as_written(page: Path, clone: Path) -> None:
    reader = Reader(clone)
    for language, name in WRITTEN.get(page.name, {}).items():
        (clone / name).parent.mkdir(exist_ok=True)
        block = blocks(page, language)[0].replace("gemini-3.5-flash", "embedded/rules")
        (clone / name).write_text(block, encoding="utf-8")
    if page.name in GIVEN:
        reader.run(GIVEN[page.name])
    for block in blocks(page, "sh|bash|console"):
        with contextlib.ExitStack() as stack:
            if "curl " in block:
                stack.enter_context(reader.serving(SERVED[page.name]))
            before: list[str] = []
            for command in commands(block):
                if not cannot(command):
                    reader.run(command, "\n".join(before))
                if re.match(r"(?:export )?\w+=\S+(?: +#.*)?$", command):
                    before.append(command)


def test_a_command_is_left_out_only_for_a_reason_that_holds_for_one() -> None:
    left_out = {
        cannot(command)
        for page in PAGES
        for block in blocks(page, "sh|bash|console")
        for command in commands(block)
    }
    assert left_out == {"", *CANNOT}


@NEEDED
def test_every_command_and_setting_that_a_page_names_exists() -> None:
    group = get_group(cli.app)
    assert isinstance(group, TyperGroup)
    known = set(
        group.list_commands(group.make_context("acc-ace", ["--help"], resilient_parsing=True))
    )
    settings = set(
        re.findall(r"^# (ACC_ACE_\w+)=", (ROOT / ".env.example").read_text("utf-8"), re.M)
    )
    for page in PAGES:
        text = page.read_text("utf-8")
        code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.S))
        assert set(re.findall(r"\bacc-ace ([a-z]+)", code)) <= known, page.name
        named = set(re.findall(r"\bACC_ACE_[A-Z0-9_]*[A-Z0-9]\b(?!…|__…|_…)", text))
        assert {each for each in named if not any(s.startswith(each) for s in settings)} <= {
            "ACC_ACE_TEST_ENDPOINT"
        }, page.name
