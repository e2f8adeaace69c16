"""Exchange formats: JSON, JSONL, lessons by id, and the text of the ACE authors."""

import json
from typing import Any

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.base import SCHEMA_VERSION
from acc_ace.core.schemas.bullet import DEFAULT_SECTION, Bullet
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.errors import InputError, PlaybookError
from acc_ace.ext.playbook_files.bullet_lines import (
    broken,
    bullet_at,
    check_header,
    gathered,
    shown,
)

KIND = "playbook"
"""The value of `kind` in the header of a JSONL file."""


def write_json(playbook: Playbook) -> str:
    """The playbook as an indented JSON document."""
    return json.dumps(playbook.to_dict(), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def read_json(document: dict[str, Any]) -> Playbook:
    """Parse a playbook from a JSON document. Raises InputError."""
    try:
        return Playbook.from_dict(document)
    except PlaybookError as error:
        raise InputError(str(error)) from error


def write_jsonl(playbook: Playbook) -> str:
    """A header, then one line for each bullet."""
    header = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "next_id": playbook.next_id,
        "bullets": len(playbook.bullets),
    }
    lines = [header, *(bullet.model_dump(mode="json") for bullet in playbook.bullets)]
    return "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)


def read_jsonl(text: str) -> Playbook:
    """Parse a playbook from JSONL. Raises InputError that names the line.

    The count in the header detects a truncated file. The header is optional.
    """
    lessons = [
        (number, parse_line(number, line))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    header: dict[str, Any] = {}
    if lessons and lessons[0][1].get("kind") == KIND:
        header = lessons.pop(0)[1]
    _check(header, len(lessons))
    bullets = [(number, bullet_at(number, fields)) for number, fields in lessons]
    return gathered(bullets, header.get("next_id", 1))


def parse_line(number: int, line: str) -> dict[str, Any]:
    """Parse the JSON object of a line. Raises InputError that names the line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise broken(number, f"not JSON: {shown(line)}") from error
    if not isinstance(value, dict):
        raise broken(number, "a JSON object is expected")
    return value


def _check(header: dict[str, Any], bullets: int) -> None:
    check_header(header)
    count = header.get("bullets", bullets)
    if count != bullets:
        raise broken(1, f"the file should hold {count} bullets but holds {bullets}; is it cut off?")


_TAKEN = (
    "id", "section", "content", "helpful", "harmful", "neutral", "created_at", "updated_at",
)  # fmt: skip


def lessons_by_id(document: dict[str, Any]) -> dict[str, Any] | None:
    """The lessons of another tool's playbook, which has them by id; None for one of ours."""
    lessons = document.get("bullets", document.get("skills"))
    return lessons if isinstance(lessons, dict) else None


def read_by_id(lessons: dict[str, Any]) -> Reading:
    """Parse active lessons, in their order; what is no field of ours is ignored.

    Raises InputError.
    """
    numbered: list[tuple[int, Bullet]] = []
    for number, (lesson_id, lesson) in enumerate(lessons.items(), start=1):
        if not isinstance(lesson, dict):
            raise InputError(f"not a playbook: lesson {number} is not an object")
        if lesson.get("status", "active") == "active":
            fields = {name: lesson[name] for name in _TAKEN if lesson.get(name) is not None}
            numbered.append((number, bullet_at(number, {"id": lesson_id, **fields})))
    return Reading(gathered(numbered), len(lessons) - len(numbered))


LINE = lazy_pattern(
    r"\s*(?:[-*]\s+)?\[([^\[\]\s]{1,64})\]\s*helpful\s*=\s*(\d{1,16})\s*,?\s*"
    r"harmful\s*=\s*(\d{1,16})\s*::\s?(.*)"
)
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}\s+(.*)")
_FENCE = "```"


def write_ace_text(playbook: Playbook) -> str:
    """The playbook in ACE text, without neutral counts and dates."""
    return playbook.as_prompt() + "\n" if playbook.bullets else ""


def read_ace_text(text: str) -> Reading:
    """Parse a playbook from ACE text; other prose and fenced examples are passed over.

    Raises InputError that names the line of what is almost a bullet.
    """
    section, fenced, passed_over = DEFAULT_SECTION, False, 0
    numbered: list[tuple[int, Bullet]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        heading, entry = _HEADING.fullmatch(line), LINE.fullmatch(line)
        fenced ^= line.lstrip().startswith(_FENCE)
        if fenced:
            passed_over += bool(line.strip())
            continue
        if heading:
            section = heading[1].strip()
        elif entry:
            bullet_id, helpful, harmful, content = entry.groups()
            fields = {
                "id": bullet_id,
                "section": section,
                "content": content,
                "helpful": int(helpful),
                "harmful": int(harmful),
            }
            numbered.append((number, bullet_at(number, fields)))
        elif "::" in line and line.lstrip("-* \t").startswith("["):
            raise broken(number, f"not a bullet: {shown(line.strip())}")
        else:
            passed_over += bool(line.strip())
    return Reading(gathered(numbered), passed_over)
