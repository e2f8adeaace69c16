"""Sections of a playbook as Agent Skills: folders with a `SKILL.md`, which agents load by need.

    restarts/SKILL.md    name and description in front matter, then a lesson a line

Of a folder, `SKILL.md` alone is read: other files, such as scripts, are named, and neither run nor
stored. Links are not followed.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import yaml

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.bullet_lines import gathered, left_out, shown
from acc_ace.ext.playbook_files.lesson_lines import LessonReader

SKILL_FILE: Final = "SKILL.md"
MOST_SKILL_CHARACTERS: Final = 1_000_000
MOST_SKILLS: Final = 200
"""Maximum skills of one folder."""

_MOST_FRONT_MATTER: Final = 16_000
_MOST_FILES: Final = 1_000
_MOST_NAME, _MOST_DESCRIPTION = 64, 1_024
_EXAMPLES, _MOST_EXAMPLE = 3, 160


def write_skills(playbook: Playbook) -> Mapping[str, str]:
    """The text of each section's `SKILL.md`, by its path: the skill's name is that of its folder.

    Raises InputError for an empty playbook.
    """
    sections: dict[str, list[Bullet]] = {}
    for bullet in playbook.bullets:
        sections.setdefault(bullet.section, []).append(bullet)
    if not sections:
        raise InputError("the playbook has no lessons to export as skills")
    texts: dict[str, str] = {}
    for section, bullets in sections.items():
        name = _name_of(section)
        if f"{name}/{SKILL_FILE}" in texts:
            name = f"{name[: _MOST_NAME - 9]}-{_digest(section)}"
        texts[f"{name}/{SKILL_FILE}"] = _skill(name, section, bullets)
    return texts


def read_skill(text: str, *, addressed: bool = False) -> tuple[Reading, bool]:
    """The lessons of a `SKILL.md`, and whether any has an id. Raises InputError with the line.

    `addressed`: whether only lines with an id are lessons.
    """
    if len(text) > MOST_SKILL_CHARACTERS:
        raise InputError(f"the skill has over {MOST_SKILL_CHARACTERS:,} characters")
    parts = re.match(r"---[ \t]*\n(.*?\n)---[ \t]*(?:\n|$)", text[:_MOST_FRONT_MATTER], re.DOTALL)
    if parts is None:
        raise InputError(
            f"no front matter in the first {_MOST_FRONT_MATTER:,} characters: a {SKILL_FILE} "
            "begins with '---', name, description and '---'"
        )
    name = _checked_name(parts[1])
    above = "\n" * parts[0].count("\n")
    reader = LessonReader(above + text[parts.end() :], name, addressed=addressed)
    return reader.read(), reader.has_ids


def read_folder(folder: Path) -> tuple[Reading, bool]:
    """The lessons of a skill's folder, or of the skills in it. Raises InputError."""
    if folder.is_file():
        folder = folder.parent
    skills = [folder] if _is_skill(folder) else list(islice(_skills_in(folder), MOST_SKILLS + 1))
    if not skills or len(skills) > MOST_SKILLS:
        raise InputError(
            f"{folder} has {'no' if not skills else 'too many folders with a'} {SKILL_FILE}"
        )
    bullets: list[tuple[int, Bullet]] = []
    passed, reasons, next_id, has_ids = 0, list[str](), 1, True
    for skill in skills:
        reading, with_ids = read_skill(_text_of(skill / SKILL_FILE))
        bullets += [
            (len(bullets) + at, each) for at, each in enumerate(reading.playbook.bullets, 1)
        ]
        others = [f"{skill / name}: neither run nor stored" for name in _other_files(skill)]
        passed += reading.passed_over + len(others)
        reasons += [*others, *(f"{skill.name}, {reason}" for reason in reading.left_out)]
        next_id, has_ids = max(next_id, reading.playbook.next_id), has_ids and with_ids
    return Reading(gathered(bullets, next_id), passed, left_out(reasons)), has_ids


def _skill(name: str, section: str, bullets: list[Bullet]) -> str:
    examples = "; ".join(bullet.content[:_MOST_EXAMPLE] for bullet in bullets[:_EXAMPLES])
    about = f"Lessons from practice on {section}. Load this before work on {section}. {examples}"
    lines = [
        "---",
        f"name: {name}",
        f"description: {json.dumps(about[:_MOST_DESCRIPTION], ensure_ascii=False)}",
        "---",
        "",
        "Follow these lessons where they apply; the counters say how often each helped or harmed.",
        "",
        f"## {section}",
        "",
    ]
    lines += [
        f"- [{bullet.id}] helpful={bullet.helpful} harmful={bullet.harmful} "
        f"neutral={bullet.neutral} :: {bullet.content}"
        for bullet in bullets
    ]
    return "\n".join(lines) + "\n"


def _name_of(section: str) -> str:
    """The name of a section's skill: letters, digits and hyphens, as the standard has it."""
    words = re.findall(r"[a-z0-9]+", section.lower())
    whole = "-".join(words)[:_MOST_NAME].rstrip("-")
    return whole if section.isascii() and whole else f"lessons-{_digest(section)}"


def _digest(section: str) -> str:
    return hashlib.sha256(section.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _checked_name(front_matter: str) -> str:
    """The name that front matter gives. Raises InputError."""
    try:
        events = yaml.parse(front_matter, Loader=yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise InputError("the front matter has YAML aliases; write each value out")
        fields = yaml.safe_load(front_matter)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"the front matter is not YAML: {shown(str(error))}") from error
    known = fields if isinstance(fields, dict) else {}
    for field in ("name", "description"):
        if not isinstance(known.get(field), str) or not known[field].strip():
            raise InputError(f"the front matter has no {field}; a skill needs name and description")
    return str(known["name"])


def _is_skill(folder: Path) -> bool:
    return os.path.lexists(folder / SKILL_FILE)


def _skills_in(folder: Path) -> Iterator[Path]:
    try:
        inner = sorted(islice(folder.iterdir(), _MOST_FILES))
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}") from error
    return (each for each in inner if each.is_dir() and not each.is_symlink() and _is_skill(each))


def _text_of(file: Path) -> str:
    """The text of a regular file. Raises InputError."""
    if file.is_symlink() or not file.is_file():
        raise InputError(f"{file} is a link or no file; name the folder that holds the file itself")
    try:
        with file.open("rb") as opened:
            content = opened.read(4 * MOST_SKILL_CHARACTERS + 1).decode("utf-8-sig")
        return content.replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text: byte {error.start}") from error


def _other_files(skill: Path) -> list[str]:
    """What else is in a skill's folder, by its path; links are not followed."""
    files = (
        (Path(root) / name).relative_to(skill).as_posix()
        for root, _, names in os.walk(skill)
        for name in names
    )
    return sorted(name for name in islice(files, _MOST_FILES) if name != SKILL_FILE)
