"""What the embedded model asks about: rules, not orders of the day."""

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin
from acc_ace.core.text.rules.reading import proposed_changes
from tests.fakes.tables import each_case


@each_case
def test_a_one_off_order_is_not_asked_about(said: str) -> None:
    assert proposed_changes(said, [], has_goal=True) == []


@each_case
def test_a_rule_for_another_name_is_a_rule_of_its_own(standing: str, said: str) -> None:
    pin = ConstraintPin(
        id="c-0001", text=standing, authority=Authority.USER, origin_turn=1, quote=standing
    )
    [change] = proposed_changes(said, [pin], has_goal=True)
    assert (change.kind, change.quote, change.sure) == (ChangeKind.ADD, said, True)
