"""What the embedded model asks about: rules, not orders of the day."""

from acc_ace.text.rules.proposals import proposed_changes
from tests.fakes.tables import each_case


@each_case
def test_a_one_off_order_is_not_asked_about(said: str) -> None:
    assert proposed_changes(said, [], has_goal=True) == []
