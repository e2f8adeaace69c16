"""Exchange formats: JSON and JSONL, the JSON of other tools, and the text of the ACE authors."""

import json
from typing import Any, Final

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.base import SCHEMA_VERSION
from acc_ace.core.schemas.bullet import DEFAULT_SECTION, Bullet
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError, PlaybookError
from acc_ace.ext.playbook_files.bullet_lines import (
    broken,
    bullet_at,
    check_header,
    gathered,
    left_out,
    parse_line,
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


def _check(header: dict[str, Any], bullets: int) -> None:
    check_header(header)
    count = header.get("bullets", bullets)
    if count != bullets:
        raise broken(1, f"the file should hold {count} bullets but holds {bullets}; is it cut off?")


_OURS: Final = (
    "id", "section", "content", "helpful", "harmful", "neutral", "created_at", "updated_at",
)  # fmt: skip
_ALIASES: Final = {"section": "topic category", "content": "insight lesson strategy text"}
"""What other tools call our fields; counters may end in '_count'."""


def foreign_lessons(document: dict[str, Any]) -> list[tuple[str, object]] | None:
    """The lessons of another tool's playbook with their ids, if it has any; None for ours."""
    for name in ("bullets", "skills", "lessons"):
        lessons = document.get(name)
        if isinstance(lessons, dict):
            return list(lessons.items())
        if name != "bullets" and isinstance(lessons, list) and lessons:
            return [("", lesson) for lesson in lessons]
    return None


def read_foreign(lessons: list[tuple[str, object]]) -> Reading:
    """Parse active lessons, in their order; what is no field of ours is ignored.

    Raises InputError.
    """
    numbered: list[tuple[int, Bullet]] = []
    passed: list[str] = []
    for number, (name, lesson) in enumerate(lessons, start=1):
        if not isinstance(lesson, dict):
            raise InputError(f"not a playbook: lesson {number} is not an object")
        status = lesson.get("status", "active")
        if status == "active":
            fields = {"id": name or f"b-{number:05d}", "section": DEFAULT_SECTION, **_ours(lesson)}
            numbered.append((number, bullet_at(number, fields)))
        else:
            passed.append(f"lesson {number}: its status is {shown(str(status))}")
    return Reading(gathered(numbered), len(passed), left_out(passed))


def _ours(lesson: dict[str, Any]) -> dict[str, object]:
    """The fields of a lesson under our names; of kayba's, the issue stands before the insight."""
    fields: dict[str, object] = {}
    for name in _OURS:
        names = (name, *_ALIASES.get(name, f"{name}_count").split())
        values = [lesson[each] for each in names if lesson.get(each) not in (None, "")]
        if values:
            fields[name] = values[0]
    if "content" not in lesson and isinstance(issue := lesson.get("issue"), str):
        parts = (issue.rstrip("."), str(fields.get("content", "")))
        fields["content"] = " — ".join(filter(None, parts))
    return fields


def write_ace_text(playbook: Playbook) -> str:
    """The playbook in ACE text, without neutral counts and dates."""
    return playbook.as_prompt() + "\n" if playbook.bullets else ""
