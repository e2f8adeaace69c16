"""The person's own words in a prompt: what clients and people mark as documents is left out."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from acc_ace.ext.coding_agents.clients import Client

_NO_PERSON: Final = "<task-notification>"
"""What Claude Code begins a background agent's report with."""

_FILES: Final = "--- Content from referenced files ---"
_FILES_END: Final = "--- End of content ---"
_COMMAND: Final = r"/[^\s/]+(?:\s|$)"
_OPENS: Final = r"\s*(?:<([A-Za-z][\w-]*)(?:\s[^<>]*)?>|(`{3,}|~{3,}))"
_CLOSES: Final = r"^\s*</([\w-]+)>|</([\w-]+)>\s*$|^\s*(`{3,}|~{3,})\s*$"


def own_words(prompt: str, client: Client) -> str:
    """A prompt without documents; '' for a command of the client. Its time is linear in it.

    A document may hold what looks like its end: the last one counts.
    """
    if prompt.lstrip().startswith(_NO_PERSON):
        return ""
    head, sign, words = prompt.rpartition(client.asks_below) if client.asks_below else ("", "", "")
    before, _, files = (words if sign and head.startswith("#") else prompt).partition(_FILES)
    text = f"{before} {files.rpartition(_FILES_END)[2] if _FILES_END in files else ''}"
    words = "\n".join(_outside(text.splitlines())).strip()
    return "" if re.match(_COMMAND, words) else words


def _outside(lines: Sequence[str]) -> Iterator[str]:
    """The lines in no fence, and in no pair of tags that begin a line and end one."""
    ends = {
        next(filter(None, end.groups())): at
        for at, line in enumerate(lines)
        for end in re.finditer(_CLOSES, line)
    }
    at = 0
    while at < len(lines):
        mark = re.match(_OPENS, lines[at])
        tag, fence = mark.groups() if mark else (None, None)
        if tag and ends.get(tag, -1) >= at:
            at = ends[tag]
            yield lines[at].rpartition(f"</{tag}>")[2]
        elif fence and ends.get(fence, -1) > at:
            at = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == fence)
        else:
            yield lines[at]
        at += 1
