"""Messages counted by Gemini over real HTTP: google-genai against a fake Gemini on loopback."""

import pytest
from google.genai.errors import APIError

from acc_ace.ext.strategies import counted_by, estimated
from tests.ext.strategies.test_token_counting import message
from tests.fakes.fake_gemini import FakeGemini, counts, http_error
from tests.pipeline.test_gemini_counting import fake, model

__all__ = ["fake"]


async def test_messages_are_counted_over_the_wire_in_one_call(fake: FakeGemini) -> None:
    fake.script(0, counts(100))
    messages = [message("one"), message("two words")]
    count = await counted_by(model(), messages)
    assert sum(map(count, messages)) >= 100
    assert len(fake.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 429, 503])
async def test_an_endpoint_that_refuses_to_count_costs_no_turn(
    fake: FakeGemini, status: int
) -> None:
    fake.script(0, http_error(status))
    fake.script(1, http_error(status))
    with pytest.raises(APIError):
        await model().count_tokens("hello")
    count = await counted_by(model(), [message("one two")])
    assert count(message("one two")) == estimated(message("one two"))
