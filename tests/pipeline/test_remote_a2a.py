"""A real RemoteA2aAgent, over a real A2A server, sends CCS_t and the message, and nothing older."""

import warnings

import pytest

from tests.fakes.loopback import served
from tests.fakes.ports import free_port
from tests.pipeline.desk import Desk, unquoted
from tests.pipeline.readers import STATE, Reader

agent_to_a2a = pytest.importorskip("google.adk.a2a.utils.agent_to_a2a")
remote_a2a_agent = pytest.importorskip("google.adk.agents.remote_a2a_agent")

BAN = "Never send reminders on Sundays."


async def test_what_is_asked_elsewhere_is_shown_the_rule_in_force_and_no_transcript() -> None:
    port, desk = free_port(), Reader(name="desk", description="Elsewhere.", says="Sent.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ADK calls its A2A experimental.
        remote = agent_to_a2a.to_a2a(desk, host="127.0.0.1", port=port)
        card = f"http://127.0.0.1:{port}/.well-known/agent-card.json"
        with served(remote, lives=True, port=port):
            agent = remote_a2a_agent.RemoteA2aAgent(name="remote", agent_card=card)
            app = Desk(agent)
            answers = [await app.ask(said) for said in ("Begin with zebra.", BAN, "And now?")]
            await agent.cleanup()
    assert answers[0] == answers[2] == "Sent."
    sent = ["\n".join(found) for found in desk.seen]
    for text, said in zip(sent, ("Begin with zebra.", BAN, "And now?"), strict=True):
        assert text.count(STATE) == 1
        assert text.endswith(said)
    assert f"- [c-0001] {BAN}" in sent[2]
    assert "zebra" not in unquoted(sent[2])
