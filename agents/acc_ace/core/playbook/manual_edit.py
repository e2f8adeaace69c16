"""Manual changes: edits of one bullet, and delta batches, one per JSON line."""

import json
from datetime import datetime
from typing import Final, NamedTuple

from acc_ace.core.playbook.bullet_screening import rejection_reason
from acc_ace.core.playbook.playbook_size import exceeded_budgets
from acc_ace.core.schemas.bullet import Bullet, clean_section
from acc_ace.core.schemas.delta import DeltaBatch, DeltaKind
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.reply_reading import read_value
from acc_ace.errors import InputError, ModelOutputError, PlaybookError

_WHY: Final = {
    "empty": "it is empty",
    "too_long": "it exceeds the maximum length of a bullet",
    "secret": "it contains a credential",
    "pii": "it contains personal data",
    "instruction_like": "it addresses the model or imitates a prompt",
}


class Edit(NamedTuple):
    """A person's change of one bullet; None leaves a field unchanged."""

    content: str | None = None
    section: str | None = None
    pinned: bool | None = None


class Edited(NamedTuple):
    """The playbook after an edit, and its steps: kind, the bullet before and after."""

    playbook: Playbook
    steps: list[tuple[DeltaKind, Bullet, Bullet]]


def edited(playbook: Playbook, bullet: Bullet, edit: Edit, *, at: datetime) -> Edited:
    """Edit one bullet; no steps when nothing changes.

    Raises InputError for a blank text.
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
    """Validate a manual edit. Raises InputError with the reason."""
    for text in (edit.content, edit.section):
        if text is not None:
            check_text(text, limits)
    if edit.section is not None and not clean_section(edit.section):
        raise InputError(f"{edit.section[:40]!r} cannot name a section; use letters or digits")


def check_text(text: str, limits: Limits) -> None:
    """Validate the text of a lesson. Raises InputError with the reason and its code."""
    reason = rejection_reason(text, max_tokens=limits.bullet_tokens)
    if reason is not None:
        raise InputError(f"the text cannot be a lesson: {_WHY.get(reason, 'refused')} ({reason})")


def check_budgets(before: Playbook, after: Playbook, limits: Limits) -> None:
    """Raise InputError, naming the budgets, when a change newly exceeds any."""
    over = set(exceeded_budgets(after.bullets, limits))
    if over:
        over -= set(exceeded_budgets(before.bullets, limits))
    if over:
        raise InputError(
            f"over budget: {', '.join(sorted(over))} would be exceeded; 'refine', remove or "
            "shorten something first, or raise the limit"
        )


MOST_CHARACTERS = 4 * 1024 * 1024
"""Maximum characters of a batch's line."""


def read_batch(line: str) -> DeltaBatch:
    """Parse a batch, or a single operation, from a JSON line.

    As with the Curator's batches, an unreadable operation does not affect the others.
    Raises InputError for anything else.
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
            raise InputError("a batch is a JSON object with 'operations'; it has none")
        value = {"operations": [value]}
    try:
        return read_value(DeltaBatch, value)
    except ModelOutputError as error:
        raise InputError(f"not a batch: {error}") from error
