"""Sections of a playbook as Agent Skills: folders with a `SKILL.md`, which agents load by need.

    restarts/SKILL.md    name and description in front matter, then a lesson a line

Of a folder, `SKILL.md` alone is read: other files, such as scripts, are named, and neither run nor
stored. Links are not followed.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import yaml

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.bullet_lines import gathered, left_out, shown, text_of
from acc_ace.ext.playbook_files.lesson_lines import LessonReader

SKILL_FILE: Final = "SKILL.md"
MOST_SKILL_CHARACTERS: Final = 1_000_000
MOST_SKILLS: Final = 200
"""Maximum skills of one folder."""

_FRONT_MATTER: Final = r"---[ \t]*\n(.*?\n)---[ \t]*(?:\n|$)"
_GUIDE: Final = (
    "Follow these lessons where they apply; the counters say how often each helped or harmed."
)
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
        digest = hashlib.sha256(section.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        words = "-".join(re.findall(r"[a-z0-9]+", section.lower()))[: _MOST_NAME - 9].rstrip("-")
        name = words if words and section.isascii() else f"lessons-{digest}"
        if f"{name}/{SKILL_FILE}" in texts:
            name = f"{name}-{digest}"
        texts[f"{name}/{SKILL_FILE}"] = _skill(name, section, bullets)
    return texts


def read_skill(text: str) -> tuple[Reading, bool]:
    """The lessons of a `SKILL.md`, and whether any has an id. Raises InputError with the line."""
    if len(text) > MOST_SKILL_CHARACTERS:
        raise InputError(f"the skill has over {MOST_SKILL_CHARACTERS:,} characters")
    parts = re.match(_FRONT_MATTER, text[:_MOST_FRONT_MATTER], re.DOTALL)
    if parts is None:
        raise InputError(
            f"no front matter in the first {_MOST_FRONT_MATTER:,} characters: a {SKILL_FILE} "
            "begins with '---', name, description and '---'"
        )
    above = "\n" * parts[0].count("\n")
    body = text[parts.end() :].replace(_GUIDE, "", 1)
    reader = LessonReader(above + body, _checked_name(parts[1]))
    return reader.read(), reader.has_ids


def read_folder(folder: Path) -> tuple[Reading, bool]:
    """The lessons of a skill's folder, or of the skills in it. Raises InputError."""
    try:
        inside = sorted(islice(folder.iterdir(), _MOST_FILES))
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}") from error
    folders = [folder, *(each for each in inside if not each.is_symlink())]
    skills = [each for each in folders if os.path.lexists(each / SKILL_FILE)]
    if not skills or len(skills) > MOST_SKILLS:
        raise InputError(f"{folder} has {'no' if not skills else 'too many of'} {SKILL_FILE}")
    if skills[0] == folder:
        del skills[1:]
    bullets: list[tuple[int, Bullet]] = []
    reasons, passed, has_ids = list[str](), 0, True
    for skill in skills:
        reading, with_ids = read_skill(text_of(skill / SKILL_FILE, MOST_SKILL_CHARACTERS))
        bullets += enumerate(reading.playbook.bullets, len(bullets) + 1)
        others = [f"{skill / name}: neither run nor stored" for name in _other_files(skill)]
        passed, has_ids = passed + reading.passed_over + len(others), has_ids and with_ids
        reasons += [*others, *(f"{skill.name}, {reason}" for reason in reading.left_out)]
    return Reading(gathered(bullets), passed, left_out(reasons)), has_ids


def _skill(name: str, section: str, bullets: list[Bullet]) -> str:
    examples = "; ".join(bullet.content[:_MOST_EXAMPLE] for bullet in bullets[:_EXAMPLES])
    about = f"Lessons from practice on {section}. Load this before work on {section}. {examples}"
    # ADK ends the front matter at the first '---', wherever it stands.
    about = re.sub("-{3,}", "—", about)[:_MOST_DESCRIPTION]
    description = json.dumps(about, ensure_ascii=False)
    lessons = "\n".join(
        f"- [{each.id}] helpful={each.helpful} harmful={each.harmful} neutral={each.neutral} "
        f":: {each.content}"
        for each in bullets
    )
    head = f"---\nname: {json.dumps(name)}\ndescription: {description}\n---"
    return f"{head}\n\n{_GUIDE}\n\n## {section}\n\n{lessons}\n"


def _checked_name(front_matter: str) -> str:
    """The name that front matter gives. Raises InputError."""
    try:
        events = yaml.parse(front_matter, Loader=yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise InputError("the front matter has YAML aliases; write each value out")
        fields = yaml.safe_load(front_matter)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"the front matter is not YAML: {shown(str(error))}") from error
    for field in ("name", "description"):
        value = fields.get(field) if isinstance(fields, dict) else None
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"the front matter has no {field}; a skill needs name and description")
    return str(fields["name"])


def _other_files(skill: Path) -> list[str]:
    """What else is in a skill's folder, by its path; links are not followed."""
    files = (Path(root, name) for root, _, names in os.walk(skill) for name in names)
    paths = (file.relative_to(skill).as_posix() for file in islice(files, _MOST_FILES))
    return sorted(path for path in paths if path != SKILL_FILE)
