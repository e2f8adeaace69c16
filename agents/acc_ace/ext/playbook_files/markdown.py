"""The Markdown format: for people to read and edit, round-trips exactly.

    <!-- acc-ace playbook {"next_id":8,"schema_version":1} -->
    # Playbook

    ## restarts

    - [b-00007] helpful=3 harmful=0 neutral=1 :: Drain db-01 before a restart.
      <!-- {"at":0,"created_at":"…","updated_at":"…"} -->

    <!-- end of playbook -->

Machine data is in comments. A list item without one, or without id and counters
("- Drain it first."), is a bullet written by a person.
"""

import json
from typing import Any

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.base import SCHEMA_VERSION
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.ext.playbook_files.bullet_lines import broken, check_header, parse_line
from acc_ace.ext.playbook_files.lesson_lines import LessonReader

HEAD = "<!-- acc-ace playbook "
_END = "<!-- end of playbook -->"

_SHOWN_FIELDS = frozenset({"id", "section", "content", "helpful", "harmful", "neutral"})
_SPECIAL = lazy_pattern(r"[\\<&]")


def is_ours(text: str) -> bool:
    """Whether a text has the machine data of this format."""
    return text.startswith(HEAD) or '\n  <!-- {"at":' in text


def write_markdown(playbook: Playbook) -> str:
    """The playbook by section; the comments hold the order across sections."""
    head = {"schema_version": SCHEMA_VERSION, "next_id": playbook.next_id}
    lines = [f"{HEAD}{_json(head)} -->", "# Playbook"]
    sections: dict[str, list[tuple[int, Bullet]]] = {}
    for at, bullet in enumerate(playbook.bullets):
        sections.setdefault(bullet.section, []).append((at, bullet))
    for section, bullets in sections.items():
        lines += ["", f"## {_escape(section)}", ""]
        lines += [line for at, bullet in bullets for line in _item(at, bullet)]
    lines += ["", _END]
    return "\n".join(lines) + "\n"


def read_markdown(text: str) -> Reading:
    """Parse a playbook of ours, edited perhaps. Raises InputError that names the line."""
    lines = text.split("\n")
    head = _head(lines[0])
    if head and not any(line.strip() == _END for line in lines):
        raise broken(len(lines), f"the last line, {_END}, is missing; is the file cut off?")
    frame = (_END, lines[0].strip()) if head else (_END,)
    body = "\n".join("" if line.strip() in frame else line for line in lines)
    return LessonReader(body, is_ours=True).read(head.get("next_id", 1))


def _item(at: int, bullet: Bullet) -> list[str]:
    rest = bullet.model_dump(mode="json", exclude=set(_SHOWN_FIELDS))
    counts = f"helpful={bullet.helpful} harmful={bullet.harmful} neutral={bullet.neutral}"
    return [
        f"- [{bullet.id}] {counts} :: {_escape(bullet.content)}",
        f"  <!-- {_json({'at': at, **rest})} -->",
    ]


def _head(line: str) -> dict[str, Any]:
    """The header of the first line; empty if there is none."""
    if not line.startswith(HEAD):
        return {}
    head = parse_line(1, line.removeprefix(HEAD).rstrip().removesuffix("-->"))
    check_header(head)
    return head


def _escape(text: str) -> str:
    """Escape characters that Markdown would read as HTML."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)


def _json(value: dict[str, Any]) -> str:
    """JSON that is safe in an HTML comment."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e")
