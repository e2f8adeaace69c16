"""Tokens by the model's own count where it has one."""

from acc_ace.core.schemas.message import Message, MessageRole
from acc_ace.ext.strategies import counted_by, estimated
from tests.fakes.clock import START


class Counting:
    """Counts a token for each character."""

    def __init__(self, *, broken: bool = False) -> None:
        self.asked: list[str] = []
        self._broken = broken

    async def count_tokens(self, text: str) -> int:
        self.asked.append(text)
        if self._broken:
            raise OSError("no network")
        return len(text)


def message(text: str) -> Message:
    return Message(id=text, timestamp=START, role=MessageRole.USER, content=text)


async def test_the_parts_never_add_up_to_less_than_the_models_count_of_one_call() -> None:
    counting = Counting()
    messages = [message("one"), message("two words"), message("三つの言葉")]
    count = await counted_by(counting, messages)
    [asked] = counting.asked
    assert sum(map(count, messages)) >= len(asked)


async def test_a_message_that_the_model_has_not_counted_is_estimated() -> None:
    count = await counted_by(Counting(), [message("one")])
    assert count(message("another")) == estimated(message("another"))


async def test_a_model_that_cannot_count_now_is_replaced_by_the_estimate() -> None:
    count = await counted_by(Counting(broken=True), [message("one two")])
    assert count(message("one two")) == estimated(message("one two"))
