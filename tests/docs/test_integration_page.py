"""The page for ADK's catalogue has the catalogue's shape, and its example runs as it says."""

import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.processes import environment
from tests.fakes.extensions import needs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/integrations/adk.md").read_text("utf-8")
EXAMPLE = ROOT / "examples/adk_integration.py"
SECTIONS = ("Use cases", "Prerequisites", "Installation", "Use with agent", "Resources")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_has_the_head_and_the_sections_of_the_catalogue() -> None:
    head = re.match(r"---\n(.*?)\n---\n", PAGE, flags=re.DOTALL)
    assert head is not None
    names = [line.partition(":")[0] for line in head[1].splitlines()]
    assert names == ["catalog_title", "catalog_description", "catalog_icon", "catalog_tags"]
    headings = re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)
    assert [name for name in headings if name in SECTIONS] == [*SECTIONS]


def test_the_page_shows_the_example_as_it_is() -> None:
    line, whole = blocks("python")
    assert whole == EXAMPLE.read_text("utf-8")
    assert line.strip() in whole


@needs("embedded")
def test_the_example_prints_without_a_key_what_the_page_shows(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, str(EXAMPLE)],
        cwd=tmp_path,
        env=environment(tmp_path / "data"),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    assert printed == blocks("text")[0].strip()
