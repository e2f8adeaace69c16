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
from collections.abc import Iterator
from typing import Any, NamedTuple

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.base import SCHEMA_VERSION
from acc_ace.core.schemas.bullet import DEFAULT_SECTION, Bullet, id_number
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.bullet_lines import broken, bullet_at, check_header, gathered, shown
from acc_ace.ext.playbook_files.exchange_forms import parse_line

HEAD = "<!-- acc-ace playbook "
_END = "<!-- end of playbook -->"

_SHOWN_FIELDS = frozenset({"id", "section", "content", "helpful", "harmful", "neutral"})
_COMMENT = lazy_pattern(r"\s*<!--\s*(\{.*\})\s*-->\s*")
_HEADING = lazy_pattern(r"\s{0,3}(#{1,6})\s+(.*)")
_ITEM = lazy_pattern(r"\s*[-*+]\s+(.*)")
_ADDRESS = lazy_pattern(
    r"\[([^\[\]\s]{1,64})\](?:\s+helpful=(\d{1,16}))?(?:\s+harmful=(\d{1,16}))?"
    r"(?:\s+neutral=(\d{1,16}))?\s*::\s?(.*)"
)
_ESCAPED = lazy_pattern(r"\\([!-/:-@\[-`{-~])")
_SPECIAL = lazy_pattern(r"[\\<&]")


class _Item(NamedTuple):
    """A list item: its line, section and text, and the comment that follows it."""

    line: int
    section: str
    text: str
    comment: dict[str, Any]


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
    """Parse a playbook from Markdown. Raises InputError that names the line."""
    lines = text.split("\n")
    head = _head(lines[0])
    items = list(_items(lines, skip=bool(head)))
    if head and not any(line.strip() == _END for line in lines):
        raise broken(len(lines), f"the last line, {_END}, is missing; is the file cut off?")
    if not head and not items:
        raise InputError("no lessons in the file; a lesson is a line like '- [b-00001] :: text'")
    next_id = head.get("next_id", 1)
    named = [(item, _fields(item)) for item in items]
    highest = max((id_number(str(fields.get("id", ""))) for _, fields in named), default=0)
    free = max(next_id, highest + 1)
    placed: list[tuple[int, int, Bullet]] = []
    for item, fields in named:
        at = item.comment.get("at", len(named))
        if "id" not in fields:
            fields["id"] = f"b-{free:05d}"
            free += 1
        placed.append((_place(item, at), item.line, bullet_at(item.line, fields)))
    placed.sort(key=lambda entry: entry[:2])
    playbook = gathered([(line, bullet) for _, line, bullet in placed], free)
    return Reading(playbook, _passed_over(lines, items, skip=bool(head)))


def _passed_over(lines: list[str], items: list[_Item], *, skip: bool) -> int:
    """The lines that are neither an item nor its comment, a heading, the frame or blank."""
    texts = [line for line in lines[skip:] if line.strip() and line.strip() != _END]
    headings = sum(_HEADING.fullmatch(line) is not None for line in texts)
    return len(texts) - headings - sum(1 + bool(item.comment) for item in items)


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


def _items(lines: list[str], *, skip: bool) -> Iterator[_Item]:
    """The list items under their headings; other prose is ignored."""
    section = DEFAULT_SECTION
    open_item: _Item | None = None
    for number, line in enumerate(lines, start=1):
        if skip and number == 1:
            continue
        comment = _COMMENT.fullmatch(line)
        if comment and open_item is not None and not open_item.comment:
            open_item = open_item._replace(comment=parse_line(number, comment[1]))
            continue
        heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        if not heading and not item:
            continue
        if open_item is not None:
            yield open_item
            open_item = None
        if heading:
            section = _unescape(heading[2]).strip() if len(heading[1]) > 1 else DEFAULT_SECTION
        elif item:
            open_item = _Item(number, section, item[1], {})
    if open_item is not None:
        yield open_item


def _fields(item: _Item) -> dict[str, object]:
    """The fields of a bullet; without 'id' if a person wrote it."""
    unknown = set(item.comment) - set(Bullet.model_fields) - {"at"}
    if unknown:
        raise broken(item.line, f"its comment has unknown fields: {', '.join(sorted(unknown))}")
    fields: dict[str, object] = {
        name: value for name, value in item.comment.items() if name != "at"
    }
    address = _ADDRESS.fullmatch(item.text)
    content = _unescape(address[5] if address else item.text)
    if not content.strip() and not address:
        raise broken(item.line, f"an empty lesson: {shown(item.text)}")
    fields |= {"section": item.section, "content": content}
    if address:
        fields["id"] = address[1]
        counts = zip(("helpful", "harmful", "neutral"), address.groups()[1:4], strict=True)
        fields |= {name: int(count) for name, count in counts if count is not None}
    return fields


def _place(item: _Item, at: object) -> int:
    if not isinstance(at, int) or isinstance(at, bool):
        raise broken(item.line, "'at' in its comment must be a number")
    return at


def _escape(text: str) -> str:
    """Escape characters that Markdown would read as HTML."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _json(value: dict[str, Any]) -> str:
    """JSON that is safe in an HTML comment."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e")
