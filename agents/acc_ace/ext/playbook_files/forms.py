"""Read a playbook in any supported format (detected if not given), and write it."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from acc_ace.core.playbook.playbook_form import MOST_CHARACTERS, Form, Reading
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.bullet_lines import text_of
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
from acc_ace.ext.playbook_files.skills import SKILL_FILE, read_folder, read_skill, write_skills

_LINES_LOOKED_AT = 200
_FRONT_MATTER: Final = r"---[ \t]*\n(?:(?!---)[^\n]*\n){0,200}?(?:name|description)[ \t]*:"
_ACE_LINE: Final = r"[^:]*\]\s*helpful\s*=\s*\d+\W+harmful\s*=\s*\d+\s*::"
_WRITERS: Final[Mapping[Form, Callable[[Playbook], str]]] = {
    Form.MARKDOWN: write_markdown,
    Form.JSON: write_json,
    Form.JSONL: write_jsonl,
    Form.ACE: write_ace_text,
}


_EXACT: Final = frozenset([Form.JSON, Form.JSONL])
"""They say themselves that they hold no lesson."""


def read(source: str | Path, form: Form | None = None) -> Reading:
    """Parse a playbook: a text, a file or a skill's folder; without `form` it is detected.

    Raises InputError that names the line or the problem. A text without ids or counters may be any
    report: its items are lessons only where `form` says so.
    """
    is_skill = isinstance(source, Path) and (source.is_dir() or source.name == SKILL_FILE)
    if isinstance(source, Path) and is_skill:
        if form not in {None, Form.SKILL}:
            raise InputError(f"{source} is read as a skill, not as {form}")
        reading, has_ids = read_folder(source if source.is_dir() else source.parent)
    else:
        text = text_of(source, MOST_CHARACTERS) if isinstance(source, Path) else source
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        form_here = form or form_of(text)
        reading, has_ids = _read_text(text, form_here)
        is_skill = form_here is Form.SKILL
        if not reading.playbook.bullets and not (form_here in _EXACT or is_ours(text)):
            raise InputError(
                "no lessons in the file; a lesson is a line like '- [b-00001] :: text'"
            )
    if form is None and not has_ids:
        kind = "skill" if is_skill else "markdown"
        raise InputError(
            f"{len(reading.playbook.bullets):,} items of lists, none with an id or counters: this "
            f"may be no playbook. '--format {kind} --dry-run' shows what would become lessons, "
            f"'--format {kind}' takes each item as one"
        )
    return reading


def _read_text(text: str, form: Form) -> tuple[Reading, bool]:
    """The lessons of a text, and whether any has an id."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"the file has over {MOST_CHARACTERS:,} characters")
    if not text.strip():
        raise InputError("the file is empty")
    match form:
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
        case _:
            reader = LessonReader(text, addressed=form is Form.ACE)
            return reader.read(), reader.has_ids


def form_of(text: str) -> Form:
    """Detect the format of a text."""
    if text.startswith(HEAD):
        return Form.MARKDOWN
    if re.match(_FRONT_MATTER, text):
        return Form.SKILL
    lines = [line for line in text.split("\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT] if line.strip()]
    if lines and lines[0].lstrip().startswith("{"):
        return Form.JSONL if _is_record(lines[0]) else Form.JSON
    return Form.ACE if any(re.match(_ACE_LINE, line) for line in lines) else Form.MARKDOWN


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


def write_files(playbook: Playbook, form: Form, section: str | None = None) -> Mapping[str, str]:
    """The files of an export by their names: one, or as skills one for each section.

    Raises InputError for a section that is not there, and for an empty playbook as skills.
    """
    bullets = tuple(each for each in playbook.bullets if section in {None, each.section})
    if section is not None and not bullets:
        names = ", ".join(sorted({bullet.section for bullet in playbook.bullets})[:20])
        raise InputError(f"no section {section[:64]!r}; there are: {names or 'none'}")
    part = playbook.model_copy(update={"bullets": bullets})
    return write_skills(part) if form is Form.SKILL else {f"playbook.{form}": write(part, form)}


def write(playbook: Playbook, form: Form) -> str:
    """The playbook as a text, in a format of one file."""
    return _WRITERS[form](playbook)
