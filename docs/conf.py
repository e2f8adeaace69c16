"""The site: `make docs` builds it with Sphinx, MyST and Furo, see docs/adr/0035-docs-site.md."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "ACC×ACE"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "ACC×ACE"
html_copy_source = False
# The anchors that GitHub gives to headings.
myst_heading_anchors = 4
# Written for the catalogue of another project.
exclude_patterns = ["integrations"]


def setup(app: "Sphinx") -> None:
    """Show links out of docs/ as words: the repository has them, the site does not."""
    app.connect("source-read", _without_links_outside)


def _without_links_outside(app: "Sphinx", name: str, source: list[str]) -> None:
    outside = "../" * (name.count("/") + 1)
    source[0] = re.sub(rf"\[([^\]]+)\]\({re.escape(outside)}[^)]*\)", r"\1", source[0])
