"""What a person's change of one bullet must keep to, and how a refusal reads."""

from typing import Final

from core.domain.bullet_screening import objection
from core.domain.playbook_size import exceeded_budgets
from core.errors import InputError
from schemas.limits import Limits
from schemas.playbook import Playbook

_WHY: Final = {
    "empty": "there is none",
    "too_long": "it is longer than a bullet may be",
    "secret": "it holds a credential",
    "pii": "it holds personal data",
    "instruction_like": "it speaks to the model over the product, or imitates a prompt",
}


def check_text(text: str, limits: Limits) -> None:
    """Raise InputError, with the reason in words and as a code, for what cannot be a lesson."""
    reason = objection(text, max_tokens=limits.bullet_tokens)
    if reason is not None:
        raise InputError(f"the text cannot be a lesson: {_WHY.get(reason, 'refused')} ({reason})")


def check_budgets(before: Playbook, after: Playbook, limits: Limits) -> None:
    """Raise InputError when a change exceeds a budget that was kept before; it is named then."""
    over = set(exceeded_budgets(after.bullets, limits))
    if over:
        over -= set(exceeded_budgets(before.bullets, limits))
    if over:
        raise InputError(
            f"there is no room: {', '.join(sorted(over))} would be exceeded; 'refine', remove or "
            "shorten something first, or raise the limit"
        )
