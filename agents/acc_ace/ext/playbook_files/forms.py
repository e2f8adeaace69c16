"""Read a playbook in any supported format (detected if not given), and write it."""

import json
from typing import Any

from acc_ace.core.playbook.playbook_form import MOST_CHARACTERS, Form, Reading
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.exchange_forms import (
    KIND,
    LINE,
    lessons_by_id,
    read_ace_text,
    read_by_id,
    read_json,
    read_jsonl,
    write_ace_text,
    write_json,
    write_jsonl,
)
from acc_ace.ext.playbook_files.markdown import HEAD, read_markdown, write_markdown

_LINES_LOOKED_AT = 200


def read(text: str, form: Form | None = None) -> Reading:
    """Parse a playbook; without `form` the format is detected.

    Raises InputError that names the line or the problem.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"the file has over {MOST_CHARACTERS:,} characters")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.strip():
        raise InputError("the file is empty")
    match form or form_of(text):
        case Form.MARKDOWN:
            return read_markdown(text)
        case Form.JSONL:
            return Reading(read_jsonl(text))
        case Form.ACE:
            return read_ace_text(text)
        case Form.JSON:
            document = _document(text)
            lessons = lessons_by_id(document)
            return Reading(read_json(document)) if lessons is None else read_by_id(lessons)


def form_of(text: str) -> Form:
    """Detect the format of a text."""
    if text.startswith(HEAD):
        return Form.MARKDOWN
    lines = [line for line in text.split("\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT] if line.strip()]
    if lines and lines[0].lstrip().startswith("{"):
        return Form.JSONL if _is_record(lines[0]) else Form.JSON
    return Form.ACE if any(LINE.fullmatch(line) for line in lines) else Form.MARKDOWN


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise InputError("not JSON: nested too deep") from error
    if not isinstance(document, dict):
        raise InputError("not a playbook: a JSON object is expected")
    if "bullets" in document or lessons_by_id(document) is not None:
        return document
    raise InputError("not a playbook: the JSON has neither 'bullets' nor 'skills'")


def _is_record(line: str) -> bool:
    """Whether a line is a JSONL header or bullet."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (value.get("kind") == KIND or "content" in value)


def write(playbook: Playbook, form: Form) -> str:
    """The playbook as a text."""
    match form:
        case Form.MARKDOWN:
            return write_markdown(playbook)
        case Form.JSON:
            return write_json(playbook)
        case Form.JSONL:
            return write_jsonl(playbook)
        case Form.ACE:
            return write_ace_text(playbook)
