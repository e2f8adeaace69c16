"""A model endpoint that takes its time, knows which turns run, and says when to kill them."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

from acc_ace.config import ROLES
from tests.fakes.default_replies import default_reply
from tests.fakes.fake_openai import calls_functions, fake_openai, says
from tests.fakes.loopback import HttpReply, Received

TAKES_S = 0.03
"""How long each reply takes, so that a kill may come at any stage."""

_NEVER_S = 3_600.0

_HOST = re.compile(r"Host (\d+) is slow\.")


def words(number: int) -> str:
    """What the user says in turn `number`, counted from 0."""
    return f"Host {number} is slow."


def server(number: int) -> str:
    """What the tool of turn `number` acts on."""
    return f"db-{number}"


def answer(number: int) -> str:
    """The answer of turn `number`."""
    return f"Restarted {server(number)}."


class SlowModel:
    """Has a tool called in each turn; counts requests down to the moment of a kill."""

    def __init__(self) -> None:
        self.base_url = ""
        self.reached = threading.Event()
        self._lock = threading.Lock()
        self._left, self._behind_tool = 0, False
        self._asked: set[int] = set()

    def arm(self, requests: int, *, behind_tool: bool = False) -> None:
        """Forget which turns were asked about; `reached` is set with so many requests more.

        With `behind_tool` at the next one after them that has the result of a tool, which is not
        answered.
        """
        with self._lock:
            self._left, self._behind_tool, self._asked = requests, behind_tool, set()
            self.reached.clear()

    @property
    def asked(self) -> set[int]:
        """The turns that were worked on since the model was armed."""
        with self._lock:
            return set(self._asked)

    def reply(self, received: Received) -> HttpReply:
        """Answer for any role."""
        # Turns are counted up, so the newest one is that which runs.
        number = max(int(found) for found in _HOST.findall(received.text))
        has_result = _has_result(received)
        with self._lock:
            self._asked.add(number)
            self._left -= 1
            is_reached = self._left <= 0 and (has_result or not self._behind_tool)
            takes_s = _NEVER_S if is_reached and self._behind_tool else TAKES_S
        if is_reached:
            self.reached.set()
        return replace(_reply(received, number), delay_s=takes_s)


@contextmanager
def slow_model() -> Iterator[SlowModel]:
    """Serve one for as long as the context is open."""
    model = SlowModel()
    with fake_openai() as fake:
        for role in ROLES:
            fake.script(role, model.reply)
        model.base_url = fake.base_url
        yield model


def _reply(received: Received, number: int) -> HttpReply:
    if received.role != "generator":
        return says(json.dumps(default_reply(received.role, received.text)))
    if not _has_result(received):
        return _calls_restart(number)
    if "response_format" not in received.body:  # The agent of a plugin's host.
        return says(answer(number))
    return says(json.dumps({"reasoning": [], "bullet_ids": [], "final_answer": answer(number)}))


def _has_result(received: Received) -> bool:
    return received.role == "generator" and received.body["messages"][-1]["role"] == "tool"


def _calls_restart(number: int) -> HttpReply:
    reply = calls_functions(("restart", {"server": server(number)}))
    # Each call has an id of its own, as from a provider.
    name, own = "call_restart_0", f"call_{uuid4().hex}"
    renamed = json.loads(json.dumps([reply.body, list(reply.chunks)]).replace(name, own))
    return replace(reply, body=renamed[0], chunks=renamed[1])
