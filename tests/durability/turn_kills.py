"""Kill processes in the middle of turns, as a user drives them, and hold what they leave to it."""

import asyncio
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from acc_ace.config import ROLES, Settings
from acc_ace.core.schemas.base import SessionKey
from tests.durability.acting_tool import ACTS
from tests.durability.forks import Forks
from tests.durability.slow_model import SlowModel, words
from tests.durability.turn_child import DESK, OURS, SESSIONS
from tests.durability.turn_problems import Left, look
from tests.e2e.processes import ROOT, environment
from tests.fakes.ports import free_port

_PATIENCE_S = 60.0
"""A process that asks no model for so long hangs."""

_MOST_REQUESTS = 12
"""Requests of a model before a kill: a turn makes some four, so it comes in one of three turns."""

_WITHIN_S = 0.12
"""And so long after such a request, so that it may come while a turn is committed."""

_BEHIND_TOOL = 4
"""One of so many kills comes between the result of a tool and the answer."""

_SCRIPT_TURNS = 400
_SHOWN = r"^> Host (\d+) is slow\.$"
_PAUSE_S = 0.02


@dataclass
class Toll:
    """What came of some kills."""

    kills: int = 0
    uncommitted: int = 0
    """Of a turn that a model was asked for, and that had not been committed."""
    unanswered: int = 0
    """Of a turn that was committed, and whose end the client had not seen."""
    in_tool: int = 0
    """Behind the start of a tool call, which no commit has settled."""
    turns: int = 0
    """Committed turns, at the end."""


@dataclass
class Place:
    """Where a process keeps its data, and what it asks."""

    folder: Path
    model: SlowModel
    database_url: str = ""
    port: int = field(default_factory=free_port)

    @property
    def acts(self) -> Path:
        """What the tool has done."""
        return self.folder / "acts"

    @property
    def log(self) -> Path:
        """What the last process printed."""
        return self.folder / "process.log"

    @property
    def settings(self) -> Settings:
        """To look at the stores."""
        if self.database_url:
            return Settings(store="postgres", database_url=self.database_url)
        return Settings(store="sqlite", data_dir=self.folder / "data")

    def environment(self) -> dict[str, str]:
        """The environment of a process."""
        url = {"ACC_ACE_DATABASE_URL": self.database_url} if self.database_url else {}
        return environment(
            self.folder / "data",
            ACC_ACE_STORE="postgres" if self.database_url else "sqlite",
            ACC_ACE_PORT=str(self.port),
            ACC_ACE_SERVE_WEB_INTERFACE="false",
            ACC_ACE_OPENAI_BASE_URL=self.model.base_url,
            ACC_ACE_TOOLS="tests.durability.acting_tool:restart",
            **{f"ACC_ACE_{role.upper()}__MODEL": "openai/slow" for role in ROLES},
            **{ACTS: str(self.acts), SESSIONS: str(self.folder / "sessions.db")},
            **url,
        )


class Way:
    """How turns are run: by a process that is started at the first turn not known as answered."""

    key: SessionKey = OURS
    repeats: bool = True
    """Whether turns have keys, so that one whose answer was not seen is asked for again."""
    ours: bool = True
    """Whether ADK's sessions are in our database."""

    @contextmanager
    def running(self, forks: Forks, place: Place, first: int) -> Iterator[None]:
        """Run turns until the process is killed in the context."""
        raise NotImplementedError

    def answered(self, place: Place) -> int:
        """How many turns the client of the killed process knows as answered."""
        raise NotImplementedError


class Child(Way):
    """A program that embeds a Conversation, or an agent under the plugin."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.repeats = name == "conversation"
        self.ours = name != "foreign"
        self.key = OURS if self.repeats else DESK

    @contextmanager
    def running(self, forks: Forks, place: Place, first: int) -> Iterator[None]:
        forks.start("child", [self.name, str(first)], place.environment(), place.log)
        yield

    def answered(self, place: Place) -> int:
        printed = place.log.read_text(encoding="utf-8").split("\n")[:-1]
        return max((int(line) + 1 for line in printed if line.isdigit()), default=0)


class Cli(Way):
    """`acc-ace chat --script`, which is played from its beginning each time."""

    @contextmanager
    def running(self, forks: Forks, place: Place, first: int) -> Iterator[None]:
        script = place.folder / "script.yaml"
        turns = [f"- {{input: '{words(n)}', id: 'n-{n}'}}" for n in range(_SCRIPT_TURNS)]
        script.write_text("turns:\n" + "\n".join(turns), encoding="utf-8")
        arguments = ["chat", "--session", self.key.session, "--script", str(script)]
        forks.start("acc-ace", arguments, place.environment(), place.log)
        yield

    def answered(self, place: Place) -> int:
        # An input is shown when the turn before it has ended.
        shown = re.findall(_SHOWN, place.log.read_text(encoding="utf-8"), re.MULTILINE)
        return max(int(number) for number in shown)


class Served(Way):
    """A server with a client that takes one turn after another."""

    def __init__(self, *, ours: bool) -> None:
        self.repeats = self._v1 = ours
        self._answered = 0

    @contextmanager
    def running(self, forks: Forks, place: Place, first: int) -> Iterator[None]:
        self._answered = first
        program, arguments = ("main.py", []) if self._v1 else ("adk", self._adk(place))
        forks.start(program, arguments, place.environment(), place.log)
        stopped = threading.Event()
        client = threading.Thread(target=self._talk, args=(place, stopped))
        client.start()
        try:
            yield
        finally:
            stopped.set()
            client.join()

    def answered(self, place: Place) -> int:
        return self._answered

    def _adk(self, place: Place) -> list[str]:
        uri = "--session_service_uri=accace://"
        return ["api_server", str(ROOT / "agents"), uri, f"--port={place.port}"]

    def _talk(self, place: Place, stopped: threading.Event) -> None:
        """Until the server is gone; it is awaited first."""
        url = f"http://127.0.0.1:{place.port}"
        with httpx.Client(base_url=url, timeout=_PATIENCE_S, trust_env=False) as http:
            while not stopped.is_set():
                try:
                    answer = self._turn(http, self._answered)
                except httpx.TransportError:
                    time.sleep(_PAUSE_S)
                    continue
                if answer.status_code != httpx.codes.OK:
                    place.log.open("a").write(f"\n{answer.status_code} {answer.text}\n")
                    return
                self._answered += 1

    def _turn(self, http: httpx.Client, number: int) -> httpx.Response:
        user, session = self.key.user, self.key.session
        if self._v1:
            return http.post(
                f"/v1/sessions/{session}/turns",
                json={"input": words(number)},
                headers={"Idempotency-Key": f"n-{number}"},
            )
        if not number:
            http.post(f"/apps/{self.key.app}/users/{user}/sessions/{session}", json={})
        content = {"role": "user", "parts": [{"text": words(number)}]}
        body = {"appName": self.key.app, "userId": user, "sessionId": session}
        return http.post("/run", json={**body, "newMessage": content})


def kill_turns(way: Way, forks: Forks, place: Place, kills: int, rng: random.Random) -> Toll:
    """Kill so many processes that run turns of one session. AssertionError for what is wrong."""
    toll, left, answered = Toll(), Left(), 0
    for number in range(kills):
        behind_tool = number % _BEHIND_TOOL == 0
        place.model.arm(rng.randint(1, _MOST_REQUESTS), behind_tool=behind_tool)
        with way.running(forks, place, answered if way.repeats else left.turns):
            _await_request(forks, place.model)
            time.sleep(rng.uniform(0.0, _WITHIN_S))
            forks.kill()
        answered = max(answered, way.answered(place))
        left = asyncio.run(look(place.settings, way.key, place.acts, left, ours=way.ours))
        # The one that was cut off may have been committed.
        if left.turns not in {answered, answered + 1}:
            left.problems.append(f"{left.turns} turns, and {answered} were answered")
        assert left.problems == [], f"{left.problems}\n{forks.output()}"
        toll.kills += 1
        toll.uncommitted += left.turns in place.model.asked
        toll.unanswered += left.turns == answered + 1
        toll.in_tool += bool(left.unsettled)
        toll.turns = left.turns
        if not way.repeats:
            answered = left.turns
    return toll


def _await_request(forks: Forks, model: SlowModel) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not model.reached.wait(_PAUSE_S):
        assert not forks.has_ended(), f"it ended by itself: {forks.output()}"
        assert time.monotonic() < deadline, f"no model is asked: {forks.output()}"
