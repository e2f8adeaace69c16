"""The bullets of a file, and the errors of invalid ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from acc_ace.core.schemas.base import SCHEMA_VERSION
from acc_ace.core.schemas.bullet import Bullet, id_number
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError, first_problem

MOST_BULLETS = 100_000
"""Maximum bullets of a file."""

MOST_LEFT_OUT = 50
"""Maximum lines of a file that a reading names as left out."""

_SHOWN = 60


def broken(line: int, why: str) -> InputError:
    """The error for an invalid line; `line` counts from 1."""
    return InputError(f"line {line}: {why}")


def shown(text: str) -> str:
    """An excerpt of the file for an error message."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def text_of(file: Path, most: int) -> str:
    """The text of a file; a link to a skill's is refused. Raises InputError, also above `most`."""
    try:
        if file.is_symlink() and file.name == "SKILL.md":
            raise InputError(f"{file} is a link; name the folder that holds the file itself")
        with file.open("rb") as opened:
            content = opened.read(4 * most + 1)
        if len(content) > 4 * most:
            raise InputError(f"{file} is too large for a playbook")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text: byte {error.start}") from error


def left_out(reasons: list[str]) -> tuple[str, ...]:
    """The first reasons why something is no lesson."""
    return tuple(reasons[:MOST_LEFT_OUT])


def check_header(header: Mapping[str, object]) -> None:
    """Raise InputError for the first line of a file of a newer program, or a broken one."""
    version, next_id = header.get("schema_version", SCHEMA_VERSION), header.get("next_id", 1)
    if not isinstance(version, int) or not isinstance(next_id, int):
        raise broken(1, "schema_version and next_id must be numbers")
    if version > SCHEMA_VERSION:
        raise broken(
            1,
            f"playbook schema_version {version} is newer than {SCHEMA_VERSION}; "
            "upgrade acc-ace to read it",
        )


def parse_line(number: int, line: str) -> dict[str, Any]:
    """Parse the JSON object of a line. Raises InputError that names the line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise broken(number, f"not JSON: {shown(line)}") from error
    if not isinstance(value, dict):
        raise broken(number, "a JSON object is expected")
    return value


def bullet_at(line: int, fields: dict[str, object]) -> Bullet:
    """Parse a bullet. Raises InputError that names the line and the field."""
    try:
        return Bullet.model_validate(fields)
    except ValidationError as error:
        raise broken(line, f"not a bullet: {first_problem(error)}") from error


def gathered(bullets: list[tuple[int, Bullet]], next_id: int = 1) -> Playbook:
    """A playbook of (line, bullet) pairs; its counter is `next_id`, or above the highest id.

    Raises InputError, naming the line, for a repeated id or too many bullets.
    """
    seen: dict[str, int] = {}
    for line, bullet in bullets:
        first = seen.setdefault(bullet.id, line)
        if first != line:
            raise broken(line, f"bullet {bullet.id} is already in line {first}")
        if len(seen) > MOST_BULLETS:
            raise broken(line, f"more than {MOST_BULLETS:,} bullets")
    lowest = 1 + max((id_number(bullet_id) for bullet_id in seen), default=0)
    return Playbook(bullets=tuple(bullet for _, bullet in bullets), next_id=max(next_id, lowest))
