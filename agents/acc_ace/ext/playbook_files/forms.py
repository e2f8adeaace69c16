"""Read a playbook in any supported format (detected if not given), and write it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acc_ace.core.playbook.playbook_form import MOST_CHARACTERS, Form, Reading
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.exchange_forms import (
    KIND,
    foreign_lessons,
    read_foreign,
    read_json,
    read_jsonl,
    write_ace_text,
    write_json,
    write_jsonl,
)
from acc_ace.ext.playbook_files.lesson_lines import LessonReader
from acc_ace.ext.playbook_files.markdown import HEAD, is_ours, read_markdown, write_markdown
from acc_ace.ext.playbook_files.skills import read_folder, read_skill, write_skills

_LINES_LOOKED_AT = 200
_FRONT_MATTER = r"---[ \t]*\n(?:(?!---)[^\n]*\n){0,200}?(?:name|description)[ \t]*:"


def read(source: str | Path, form: Form | None = None) -> Reading:
    """Parse a playbook, a text or a skill's folder; without `form` the format is detected.

    Raises InputError that names the line or the problem. A text without ids or counters may be any
    report: its items are lessons only where `form` says so.
    """
    if isinstance(source, Path):
        if form not in {None, Form.SKILL}:
            raise InputError(f"{source} is read as a skill, not as {form}")
        reading, has_ids = read_folder(source)
    else:
        reading, has_ids = _read_text(source, form)
    if form is None and not has_ids:
        kind = "skill" if isinstance(source, Path) or _is_skill(source) else "markdown"
        raise InputError(
            f"{len(reading.playbook.bullets):,} items of lists, none with an id or counters: this "
            f"may be no playbook. '--format {kind} --dry-run' shows what would become lessons, "
            f"'--format {kind}' takes each item as one"
        )
    return reading


def _read_text(text: str, form: Form | None) -> tuple[Reading, bool]:
    """The lessons of a text, and whether any has an id."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"the file has over {MOST_CHARACTERS:,} characters")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.strip():
        raise InputError("the file is empty")
    match form or form_of(text):
        case Form.JSONL:
            return Reading(read_jsonl(text)), True
        case Form.JSON:
            document = _document(text)
            lessons = foreign_lessons(document)
            return Reading(read_json(document)) if lessons is None else read_foreign(lessons), True
        case Form.SKILL:
            return read_skill(text)
        case Form.MARKDOWN if is_ours(text):
            return read_markdown(text), True
        case chosen:
            reader = LessonReader(text, addressed=chosen is Form.ACE)
            return reader.read(), reader.has_ids


def form_of(text: str) -> Form:
    """Detect the format of a text."""
    if text.startswith(HEAD):
        return Form.MARKDOWN
    if _is_skill(text):
        return Form.SKILL
    lines = [line for line in text.split("\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT] if line.strip()]
    if lines and lines[0].lstrip().startswith("{"):
        return Form.JSONL if _is_record(lines[0]) else Form.JSON
    return Form.ACE if any(_is_ace(line) for line in lines) else Form.MARKDOWN


def _is_ace(line: str) -> bool:
    head, separator, _ = line.partition("::")
    return (
        bool(separator)
        and re.search(r"\]\s*helpful\s*=\s*\d+\W+harmful\s*=\s*\d+\s*$", head) is not None
    )


def _is_skill(text: str) -> bool:
    """Whether a text begins with the front matter of a skill."""
    return re.match(_FRONT_MATTER, text) is not None


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise InputError("not JSON: nested too deep") from error
    if not isinstance(document, dict):
        raise InputError("not a playbook: a JSON object is expected")
    if "bullets" in document or foreign_lessons(document) is not None:
        return document
    raise InputError("not a playbook: the JSON has neither 'bullets' nor 'skills'")


def _is_record(line: str) -> bool:
    """Whether a line is a JSONL header or bullet."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (value.get("kind") == KIND or "content" in value)


def of_section(playbook: Playbook, section: str | None) -> Playbook:
    """The lessons of a section; without one, all. Raises InputError for one that is not there."""
    if section is None:
        return playbook
    bullets = tuple(bullet for bullet in playbook.bullets if bullet.section == section)
    if not bullets:
        names = sorted({bullet.section for bullet in playbook.bullets})
        raise InputError(
            f"no section {section[:64]!r}; there are: {', '.join(names[:20]) or 'none'}"
        )
    return playbook.model_copy(update={"bullets": bullets})


def write_files(playbook: Playbook, form: Form) -> Mapping[str, str]:
    """The files of an export by their names: one, or as skills one for each section.

    Raises InputError for an empty playbook as skills.
    """
    match form:
        case Form.MARKDOWN:
            return {"playbook.md": write_markdown(playbook)}
        case Form.JSON:
            return {"playbook.json": write_json(playbook)}
        case Form.JSONL:
            return {"playbook.jsonl": write_jsonl(playbook)}
        case Form.ACE:
            return {"playbook.txt": write_ace_text(playbook)}
        case Form.SKILL:
            return write_skills(playbook)


def write(playbook: Playbook, form: Form) -> str:
    """The one file of an export. Raises InputError where there are several, or none."""
    texts = list(write_files(playbook, form).values())
    if len(texts) > 1:
        raise InputError("each section is a skill of its own: name one section")
    return texts[0]
