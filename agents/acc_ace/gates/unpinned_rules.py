"""What to tell whoever sets or releases a rule under a memory that keeps no constraints."""

from collections.abc import Sequence

from acc_ace.schemas.commit import ConstraintPin
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.memory_name import MemoryName
from acc_ace.text.language import language_of
from acc_ace.text.rules.rule_changes import detect_changes, unmatched_release
from acc_ace.text.rules.rule_detection import detect_rules

_MOST_IDS = 8


def warning_of_unpinned(
    turn_input: TurnInput, pins: Sequence[ConstraintPin], memory: MemoryName
) -> str | None:
    """That x_t sets or releases a rule and this memory keeps neither; None where it does not.

    In the language of x_t. Constraints that x_t would release are named: they stay.
    """
    if not turn_input.authority.may_rule:
        return None
    text = turn_input.text
    staying = [change.constraint_id for change in detect_changes(text, pins)]
    if not staying and not detect_rules(text) and unmatched_release(text, pins) is None:
        return None
    return _told(memory, staying, japanese=language_of(text) == "ja")


def _told(memory: MemoryName, staying: Sequence[str], *, japanese: bool) -> str:
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
