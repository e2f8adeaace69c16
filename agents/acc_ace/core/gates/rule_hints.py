"""Warn, in the language of x_t, that the memory strategy does not store rules."""

from collections.abc import Sequence

from acc_ace.core.gates.commands import parse_command
from acc_ace.core.schemas.base import MemoryName
from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.rules.proposals import proposed_changes

_MOST_IDS = 8


def warning_of_unpinned(
    turn_input: TurnInput, pins: Sequence[ConstraintPin], memory: MemoryName
) -> str | None:
    """The warning if x_t sets or releases a rule, which this memory does not store; else None.

    Active constraints stay active; they are listed when x_t would change one.
    """
    if not turn_input.authority.may_rule:
        return None
    text = turn_input.text
    proposed = proposed_changes(text, pins, has_goal=True)
    changing = [change for change in proposed if change.kind is not ChangeKind.ADD]
    if not proposed and parse_command(text) is None:
        return None
    staying = [pin.id for pin in pins] if changing or parse_command(text) else []
    return _reported(memory, staying, japanese=language_of(text) == "ja")


def _reported(memory: MemoryName, staying: Sequence[str], *, japanese: bool) -> str:
    ids = ", ".join(staying[:_MOST_IDS]) + (", …" if len(staying) > _MOST_IDS else "")
    if japanese:
        stays = f"{ids} は有効のままです。" if ids else ""
        return (
            f"メモリ「{memory}」は制約を固定も解除もしません。{stays}この発言が効くのは、モデルに"
            "見えている間だけです。残すには「acc」でもう一度書いてください"
        )
    stays = f"{ids} stays active; " if ids else ""
    return (
        f"the memory '{memory}' pins and releases no rules: {stays}what this turn says of "
        "them holds only while its message is shown; say it again under 'acc' to keep it"
    )
