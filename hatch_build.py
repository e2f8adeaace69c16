"""The README in METADATA: its pictures and links lead to the repository, if there is one."""

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE: Final = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")
_PICTURES: Final = (".png", ".svg")


class ReadmeHook(MetadataHookInterface):
    """The README as it stands; with absolute links where `[project.urls]` has a `Repository`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository := metadata.get("urls", {}).get("Repository"):
            text = absolute(text, repository.rstrip("/"), f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, repository: str, tag: str) -> str:
    """A text whose relative links lead to the files of a tag."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1].endswith(_PICTURES) else "blob"
        return f"]({repository}/{kind}/{tag}/{found[1]})"

    return _RELATIVE.sub(link, text)
