"""The image builds from what Docker would see of a checkout, and its package is whole."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT

WAIT_S = 120.0


def tracked() -> list[str]:
    listed = ["git", "ls-files", "-z"]
    done = subprocess.run(  # noqa: S603 - our own command
        listed, cwd=ROOT, capture_output=True, text=True, check=True, timeout=WAIT_S
    )
    return [name for name in done.stdout.split("\0") if (ROOT / name).is_file()]


def expression(pattern: str) -> re.Pattern[str]:
    """A pattern of `.dockerignore`, which also stands for all that is below a folder."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern.strip("/"))
    meant = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts) + "(?:/.*)?")


def sent(names: list[str], rules: str) -> list[str]:
    """The files that Docker sends: the last rule that fits decides, `!` lets a file in."""
    lines = [line.strip() for line in rules.splitlines()]
    patterns = [line for line in lines if line and not line.startswith("#")]

    def is_sent(name: str) -> bool:
        fitting = [rule for rule in patterns if expression(rule.lstrip("!")).fullmatch(name)]
        return not fitting or fitting[-1].startswith("!")

    return [name for name in names if is_sent(name)]


def copied(names: list[str], dockerfile: str) -> list[str]:
    """What the `COPY` lines of the first stage take of the files; each source must be there."""
    first = re.split(r"^FROM .*$", dockerfile, flags=re.MULTILINE)[1]
    taken: set[str] = set()
    for line in re.findall(r"^COPY (?!--from)(.+)$", first, flags=re.MULTILINE):
        for source in line.split()[:-1]:
            below = [n for n in names if source == "." or n == source or n.startswith(f"{source}/")]
            assert below, f"COPY {source} finds nothing"
            taken |= {*below}
    return sorted(taken)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the image builds the package."""
    folder = tmp_path_factory.mktemp("context")
    names = sent(tracked(), (ROOT / ".dockerignore").read_text(encoding="utf-8"))
    for name in copied(names, (ROOT / "Dockerfile").read_text(encoding="utf-8")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def built(kind: str, folder: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory"]
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, str(out)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [archive] = out.glob("acc_ace-*")
    return archive


def check(wheel: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    forced = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert forced
    held = zipfile.ZipFile(wheel)
    for source, place in forced.items():
        assert held.read(place) == (ROOT / source).read_bytes()
    code = {n.removeprefix("agents/") for n in tracked() if n.startswith("agents/acc_ace/")}
    assert code <= {*held.namelist()}


def test_the_image_builds_the_wheel_with_all_that_it_takes(context: Path, tmp_path: Path) -> None:
    check(built("wheel", context, tmp_path))


def test_a_source_distribution_of_the_context_builds_the_same_wheel(
    context: Path, tmp_path: Path
) -> None:
    with tarfile.open(built("sdist", context, tmp_path / "source")) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.glob("acc_ace-*")
    check(built("wheel", folder, tmp_path / "wheel"))


def test_the_context_is_what_the_package_needs(context: Path) -> None:
    names = {path.relative_to(context).parts[0] for path in context.iterdir()}
    assert names.isdisjoint({"tests", "bench", "docs", "screenshots"})


@pytest.mark.parametrize(
    ("rules", "files"),
    [
        ("", ["a/b.py", "a/c.md", "d"]),
        ("a", ["d"]),
        ("a/*\n!a/*.md", ["a/c.md", "d"]),
        ("!a/*.md\na", ["d"]),
        ("**/*.py", ["a/c.md", "d"]),
        ("# d\n\n?", []),
    ],
)
def test_rules_of_the_context_are_read_as_docker_reads_them(rules: str, files: list[str]) -> None:
    assert sent(["a/b.py", "a/c.md", "d"], rules) == files
