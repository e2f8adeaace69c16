"""A 429 that a turn gets makes learning wait, over real HTTP."""

from acc_ace.bootstrap import build_container
from acc_ace.config import AgentSettings, Settings
from acc_ace.conversation import Conversation
from tests.ext.background.learners import KEY
from tests.fakes.fake_openai import fake_openai, http_error, says


async def test_a_429_to_the_generator_is_told_to_learning() -> None:
    with fake_openai() as fake:
        model = AgentSettings(model="openai/any", backoff_s=0.01)
        container = build_container(
            Settings(
                store="memory",
                openai_base_url=fake.base_url,
                qualifier=model,
                compressor=model,
                generator=model,
            )
        )
        conversation = Conversation(container)
        await conversation.turn(KEY, "db-01 is down.")
        now = container.clock.now()
        assert container.pressure.wait_s(now, most_turns=8, quiet_s=60) == 0
        fake.script("generator", http_error(429, retry_after="0"), says('{"final_answer": "ok"}'))
        await conversation.turn(KEY, "db-02 is down.")
        assert container.pressure.wait_s(container.clock.now(), most_turns=8, quiet_s=60) > 0
        await conversation.close()
