"""What we write for people, read as one text each: pages, help, catalogues, prices."""

import datetime
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.e2e.processes import BIN, ROOT, environment

README: Final = ROOT / "README.md"
JAPANESE: Final = ROOT / "README.ja.md"
CATALOGUE: Final = ROOT / "agents" / "acc_ace" / "cockpit" / "static" / "ja.json"


def flat(path: Path) -> str:
    """A page on one line."""
    return " ".join(path.read_text(encoding="utf-8").split())


def prose(path: Path) -> str:
    """The words of a page: without code, HTML tags, pictures, and the targets of links."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"(?ms)^\s*(```|~~~).*?^\s*\1\s*$", " ", text)
    text = re.sub(r"<!--.*?-->|<[^>]+>", " ", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def word_count(path: Path) -> int:
    """Words of the prose; a number or a name in code spans is one."""
    return len(re.findall(r"\S*\w\S*", prose(path)))


def pages(pattern: str = "*.md") -> list[Path]:
    """README and every page under docs/."""
    return [README, *sorted((ROOT / "docs").rglob(pattern))]


def links(path: Path) -> list[str]:
    """Targets of the links of a Markdown page."""
    return re.findall(r"\]\(([^)\s]+)", path.read_text(encoding="utf-8"))


def fenced(path: Path, *languages: str) -> list[str]:
    """Blocks of code of a page in some languages."""
    blocks = re.findall(r"(?ms)^```(\w*)[^\n]*\n(.*?)^```", path.read_text(encoding="utf-8"))
    return [body for language, body in blocks if language in languages]


def japanese_words() -> list[str]:
    """The Japanese of the cockpit's catalogue."""
    parsed: dict[str, str] = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    return list(parsed.values())


def help_of(*names: str) -> str:
    """The help of a command, on one line."""
    shown = subprocess.run(  # noqa: S603 - our own command
        [str(BIN / "acc-ace"), *names, "--help"],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return " ".join((shown.stdout + shown.stderr).split())


def with_prices_of(day: datetime.date, folder: Path) -> dict[str, str]:
    """Settings of a command whose own table of prices is of this day."""
    copied = folder / "copy"
    if not copied.exists():
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "agents", copied / "agents", ignore=skip)
        shutil.copy(ROOT / "config.py", copied)
    tables = [each for each in copied.rglob("*.toml") if "as_of" in each.read_text("utf-8")]
    assert tables, "no dated table of prices in the package"
    for table in tables:
        text = table.read_text(encoding="utf-8")
        table.write_text(re.sub(r"(?m)^as_of = .*$", f"as_of = {day.isoformat()}", text))
    return {"PYTHONPATH": f"{copied / 'agents'}{os.pathsep}{copied}"}


def about_prices(settings: dict[str, str], folder: Path) -> str:
    """What the commands that speak of money or of settings print."""
    env = {**environment(folder / "data"), **settings}
    output = ""
    for name in ("doctor", "cost"):
        ended = subprocess.run(  # noqa: S603 - our own command
            [str(BIN / "acc-ace"), name],
            cwd=folder,
            env=env,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        output += ended.stdout + ended.stderr
    return " ".join(output.split())
