"""Read the records of a JSONL document, one a line."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import ValidationError

from acc_ace.errors import InputError
from acc_ace.schemas.document import DocumentRecord

MAX_LINE = 4 * 1024 * 1024
"""Characters of one line."""


class Line(NamedTuple):
    """A record, and the number of its line, from 1."""

    number: int
    record: DocumentRecord


def records(blocks: Iterable[str], *, name: str) -> Iterator[Line]:
    """The records of a document, in order; blank lines are passed over.

    Raises InputError that names the document and the line: for what is no JSON object, has no
    text, uses an id twice, is longer than MAX_LINE or no valid Unicode.
    """
    first: dict[str, int] = {}
    for number, text in enumerate(_lines(blocks, name), start=1):
        if not text.strip():
            continue
        record = _record(text, f"{name}, line {number}")
        if record.id is not None and first.setdefault(record.id, number) != number:
            raise InputError(
                f"{name}, line {number}: id '{record.id}' is also on line {first[record.id]}; "
                "give each record its own id"
            )
        yield Line(number, record)


def _lines(blocks: Iterable[str], name: str) -> Iterator[str]:
    """Lines end at a line feed alone: JSON lets other separators stand inside a text."""
    begun: list[str] = []
    size = count = 0
    for block in blocks:
        first, *rest = block.split("\n")
        for piece in rest:
            yield "".join([*begun, first])
            count += 1
            begun, size, first = [], 0, piece
        begun.append(first)
        size += len(first)
        if size > MAX_LINE:
            raise InputError(f"{name}, line {count + 1} is longer than {MAX_LINE} characters")
    yield "".join(begun)


def _record(text: str, where: str) -> DocumentRecord:
    try:
        record = DocumentRecord.model_validate(json.loads(text))
        "\n".join((record.content, record.id or "", record.source or "")).encode()
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise InputError(f"{where}: {f'{field}: ' if field else ''}{problem['msg']}") from error
    except UnicodeEncodeError as error:
        raise InputError(f"{where} holds half of a surrogate pair, not valid text") from error
    except (ValueError, RecursionError) as error:
        # Depth and length are the interpreter's to bound; its words would not help anybody.
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "beyond measure"
        raise InputError(f"{where} is not JSON ({reason})") from error
    return record
