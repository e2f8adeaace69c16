"""The JSON skillbook of kayba's ace-framework: skills by id."""

from typing import Any

from acc_ace.errors import InputError
from acc_ace.playbook.formats.file_form import bullet_at, gathered
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.playbook import Playbook

_TAKEN = (
    "id", "section", "content", "helpful", "harmful", "neutral", "created_at", "updated_at",
)  # fmt: skip


def is_skillbook(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a skillbook."""
    return "skills" in document and "bullets" not in document


def read_skillbook(document: dict[str, Any]) -> Playbook:
    """The playbook of a skillbook's active skills, in its order. Raises InputError.

    Embeddings and decisions on similar skills are left out; `refine` finds its own.
    """
    skills = document["skills"]
    if not isinstance(skills, dict):
        raise InputError("not a skillbook: 'skills' is not an object")
    found: list[tuple[int, Bullet]] = []
    for number, (skill_id, skill) in enumerate(skills.items(), start=1):
        if not isinstance(skill, dict):
            raise InputError(f"not a skillbook: skill {number} is not an object")
        if skill.get("status", "active") == "active":
            fields = {name: skill[name] for name in _TAKEN if skill.get(name) is not None}
            found.append((number, bullet_at(number, {"id": skill_id, **fields})))
    return gathered(found)
