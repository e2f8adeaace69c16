"""The site builds without a warning, and `llms.txt` has the form of llmstxt.org."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason=f"needs {module}, of the dependency group 'docs'")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    built = subprocess.run(  # noqa: S603 - our own pages
        [*command, str(ROOT / "docs"), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "how-to" / "index.html").is_file()
    loaded = r"<(?:script|link|img)[^>]+(?:src|href)=.https?://"
    pages = [
        page for page in tmp_path.rglob("*.html") if re.search(loaded, page.read_text("utf-8"))
    ]
    assert pages == []


def test_llms_txt_has_a_title_a_summary_and_lists_of_links_that_exist() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    assert re.match(r"# [^\n]+\n\n> [^\n]+\n\n", head)
    assert sections[-1].startswith("Optional\n")
    items = [line for each in sections for line in each.splitlines()[1:] if line]
    links = [re.fullmatch(r"- \[[^\]]+\]\(([^)]+)\)(?:: .+)?", line) for line in items]
    assert all(links)
    assert [link[1] for link in links if link and not (ROOT / link[1]).is_file()] == []
