"""Screen bullets by the user's rules in force: what orders the forbidden is not shown.

A bullet that is left out costs a hint, one that is followed breaks a promise. So what is compared
is coarse: the act of the rule, named by a bullet that points the other way.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.lessons.consent import speaks_of_consent
from acc_ace.core.text.patterns import lazy_pattern, remembered
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.rules.contradiction import contradiction
from acc_ace.core.text.rules.topic import action_of, words_of_act
from acc_ace.core.text.similarity import content_words

AGAINST_RULE: Final = "against_rule"


class ScreenedBullets(NamedTuple):
    """The bullets that may be shown, and those that go against a rule in force."""

    shown: tuple[Bullet, ...]
    against: tuple[Bullet, ...]


def screened(bullets: Iterable[Bullet], pins: Sequence[ConstraintPin]) -> ScreenedBullets:
    """Part bullets by whether a rule in force forbids what they order or permit."""
    kept: list[Bullet] = []
    out: list[Bullet] = []
    for bullet in bullets:
        (out if pins and rule_against(bullet.content, pins) else kept).append(bullet)
    return ScreenedBullets(tuple(kept), tuple(out))


def rule_against(text: str, pins: Sequence[ConstraintPin]) -> str | None:
    """The id of a rule that a lesson goes against, or None."""
    clash = contradiction(text, pins)
    if clash is not None:
        return clash.constraint_id
    return next((pin.id for pin in pins if _is_against(text, pin.text)), None)


_BESIDE = lazy_pattern(
    r"\b(?:before|after|when(?:ever)?|if|until|unless|while|once)\b[^,.;]*|[^、。]*(?:前に|とき|時|場合|たら)は?、?",
    re.IGNORECASE,
)
"""What a clause says beside its act: when, and under which condition."""
_ASKS = lazy_pattern(
    r"\b(?:ask|confirm|approv|sign-?off|only)\w*|(?:聞|確認|承認|許可|相談|のみ|だけ)",
    re.IGNORECASE,
)
_ASKED = lazy_pattern(r"\bbefore\b[^,.;]*|[^、。]*(?:前に|ときは|時は|場合は)", re.IGNORECASE)
"""The act before which is to be asked."""
_NUMBER = lazy_pattern(r"(?<![\w-])\d+")


@remembered
def _is_against(text: str, rule: str) -> bool:
    asks = _ASKS.search(rule) is not None
    if asks and speaks_of_consent(text):
        return True
    act, main = words_of_act(rule), content_words(_BESIDE.sub(" ", text))
    verb = action_of(rule)
    shared = main & act
    if verb is None and asks and (asked := _ASKED.search(rule)):
        shared = main & content_words(asked.group())
    is_named = verb in shared if verb else 2 * len(shared) >= len(act) or (asks and bool(shared))
    if is_named and (asks or negated(text) != negated(rule)):
        return True
    numbers = [frozenset(_NUMBER.findall(each)) for each in (text, rule)]
    return bool(shared) and all(numbers) and numbers[0] != numbers[1]
