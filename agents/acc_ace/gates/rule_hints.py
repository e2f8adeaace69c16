"""What to tell the user about rules, in the language of x_t.

Why words released nothing and how to say it; and that a memory which keeps no constraints keeps
no rule.
"""

from collections.abc import Sequence

from acc_ace.schemas.base import MemoryName
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.schemas.interaction import TurnInput
from acc_ace.text.normalize import language_of, normalise, one_line
from acc_ace.text.rules.named_release import ID
from acc_ace.text.rules.rule_changes import detect_changes, unmatched_release
from acc_ace.text.rules.rule_detection import detect_rules
from acc_ace.text.tokens import clip_tokens

_SAID_TOKENS = 32
_MOST_NAMED = 4
_MOST_ACTIVE = 8

_NOTHING_EN = "nothing was released by '"
_NOTHING_JA = "」では何も解除していません。"


def names_constraint(said: str) -> bool:
    """Whether words name any constraint by an id."""
    return ID.search(normalise(said)) is not None


def how_to_release(text: str, said: str, active: Sequence[ConstraintPin]) -> str:
    """What to tell of `said`, the words of x_t (`text`) that were to release a constraint.

    Names the ids that were said and are not active, and the active ones, a few of each.
    """
    ids = [pin.id for pin in active]
    named = dict.fromkeys(ID.findall(normalise(said)))
    gone = [name for name in named if name not in ids]
    meant = next((name for name in named if name in ids), None) or next(iter(ids), "")
    quoted = clip_tokens(one_line(said), _SAID_TOKENS)
    tell = _in_japanese if language_of(text) == "ja" else _in_english
    return tell(quoted, gone, ids, meant)


def tells_of_no_release(warning: str) -> bool:
    """Whether a warning is one of `how_to_release`."""
    return warning.startswith(_NOTHING_EN) or (warning.startswith("「") and _NOTHING_JA in warning)


def _in_english(said: str, gone: Sequence[str], active: Sequence[str], meant: str) -> str:
    reported = f"{_NOTHING_EN}{said}': "
    if not active:
        return f"{reported}no constraint is active"
    if gone:
        verb = "is" if len(gone) == 1 else "are"
        reported += f"{_listed(gone, _MOST_NAMED, ', ')} {verb} not active; "
    return (
        f"{reported}name one active constraint by its id, for example 'release {meant}' "
        f"(active: {_listed(active, _MOST_ACTIVE, ', ')})"
    )


def _in_japanese(said: str, gone: Sequence[str], active: Sequence[str], meant: str) -> str:
    reported = f"「{said}{_NOTHING_JA}"
    if not active:
        return f"{reported}有効な制約はありません"
    if gone:
        reported += f"{_listed(gone, _MOST_NAMED, '、')} は有効な制約ではありません。"
    return (
        f"{reported}有効な制約の番号を一つ挙げて、「制約 {meant} を解除」のように書いてください"
        f"（有効：{_listed(active, _MOST_ACTIVE, '、')}）"
    )


def _listed(ids: Sequence[str], most: int, between: str) -> str:
    return between.join([*ids[:most], *(["…"] if len(ids) > most else [])])


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
