"""Changes that a person hands in: edits of one bullet, and delta batches, a JSON line each."""

import json
from datetime import datetime
from typing import Final, NamedTuple

from pydantic import ValidationError

from acc_ace.errors import InputError, PlaybookError
from acc_ace.playbook.bullet_screening import rejection_reason
from acc_ace.playbook.playbook_size import exceeded_budgets
from acc_ace.schemas.bullet import Bullet, clean_section
from acc_ace.schemas.delta import DeltaBatch, DeltaKind
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import Playbook

_WHY: Final = {
    "empty": "there is none",
    "too_long": "it is longer than a bullet may be",
    "secret": "it holds a credential",
    "pii": "it holds personal data",
    "instruction_like": "it speaks to the model over the product, or imitates a prompt",
}


class Edit(NamedTuple):
    """What a person changes of a bullet; None stays as it is."""

    content: str | None = None
    section: str | None = None
    pinned: bool | None = None


class Edited(NamedTuple):
    """The playbook after an edit, and its steps: what was done, the bullet before and after."""

    playbook: Playbook
    steps: list[tuple[DeltaKind, Bullet, Bullet]]


def edited(playbook: Playbook, bullet: Bullet, edit: Edit, *, at: datetime) -> Edited:
    """The playbook with one bullet edited; no steps when it is as wanted already.

    Raises InputError for a text that is blank.
    """
    draft, steps, now = playbook.draft(), list[tuple[DeltaKind, Bullet, Bullet]](), bullet
    if edit.content is not None or edit.section is not None:
        try:
            after = draft.update(bullet.id, content=edit.content, section=edit.section, at=at)
        except PlaybookError as error:
            raise InputError(f"the text cannot be a lesson: {error}") from error
        if (after.content, after.section) == (bullet.content, bullet.section):
            draft = playbook.draft()
        else:
            steps.append((DeltaKind.EDIT, bullet, after))
            now = after
    if edit.pinned is not None and edit.pinned != now.pinned:
        kind = DeltaKind.PIN if edit.pinned else DeltaKind.UNPIN
        steps.append((kind, now, draft.pin(bullet.id, pinned=edit.pinned)))
    return Edited(playbook.with_draft(draft) if steps else playbook, steps)


def check_edit(edit: Edit, limits: Limits) -> None:
    """Raise InputError, with the reason, for texts that cannot be in a playbook."""
    for text in (edit.content, edit.section):
        if text is not None:
            check_text(text, limits)
    if edit.section is not None and not clean_section(edit.section):
        raise InputError(f"{edit.section[:40]!r} cannot name a section; use letters or digits")


def check_text(text: str, limits: Limits) -> None:
    """Raise InputError, with the reason in words and as a code, for what cannot be a lesson."""
    reason = rejection_reason(text, max_tokens=limits.bullet_tokens)
    if reason is not None:
        raise InputError(f"the text cannot be a lesson: {_WHY.get(reason, 'refused')} ({reason})")


def check_budgets(before: Playbook, after: Playbook, limits: Limits) -> None:
    """Raise InputError when a change exceeds a budget that was kept before; it is named then."""
    over = set(exceeded_budgets(after.bullets, limits))
    if over:
        over -= set(exceeded_budgets(before.bullets, limits))
    if over:
        raise InputError(
            f"over budget: {', '.join(sorted(over))} would be exceeded; 'refine', remove or "
            "shorten something first, or raise the limit"
        )


MOST_CHARACTERS = 4 * 1024 * 1024
"""A longer line is no batch."""


def read_batch(line: str) -> DeltaBatch:
    """A batch from a line; one operation alone is a batch too.

    As with the Curator's, an operation that is none does not cost the batch its good ones.
    Raises InputError for what is no batch at all.
    """
    if len(line) > MOST_CHARACTERS:
        raise InputError(f"a batch has at most {MOST_CHARACTERS:,} characters")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError("a batch is a JSON object with 'operations'")
    if "operations" not in value:
        if not {"type", "op", "action"} & set(value):
            raise InputError("a batch is a JSON object with 'operations'; there are none")
        value = {"operations": [value]}
    try:
        return DeltaBatch.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "batch"
        raise InputError(f"not a batch: {where}: {problem['msg']}") from error
