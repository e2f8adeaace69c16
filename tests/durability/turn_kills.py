"""Kill processes in the middle of turns, and look at what they leave."""

import asyncio
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import httpx
from google.adk.events import Event

from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.commit import CommitKind
from acc_ace.schemas.interaction import Interaction, Outcome
from tests.durability.turn_child import KEYS, stores
from tests.e2e.processes import BIN, ROOT, Server, adk_server, environment, our_server

SERVED = SessionKey("acc_ace", "user", "kills")


async def problems(settings: Settings, key: SessionKey) -> list[str]:
    """What is wrong with a session: it must be at CCS_t with its answer, or at CCS_{t-1}."""
    container = build_container(settings)
    sessions = open_session_service(container)
    try:
        head = await container.journal.head(key)
        entries = await container.journal.history(key, limit=10_000)
        kept = await container.evidence.list(key, limit=10_000)
        stored = await sessions.get_session(
            app_name=key.app, user_id=key.user, session_id=key.session
        )
        found = _of_journal([entry.kind for entry in entries], [e.state.version for e in entries])
        found += _of_evidence(kept, {entry.state.version for entry in entries})
        if stored is not None:
            said = [event for event in stored.events if _says_something(event)]
            words = [event for event in said if event.author == "user"]
            answers = [event for event in said if event.author != "user"]
            if not len(words) == len(answers) == len(entries):
                found.append(f"{len(words)} inputs, {len(answers)} answers, {len(entries)} turns")
            if stored.state.get("ccs") != (head.state.to_state() if head else None):
                found.append("session.state['ccs'] is not the head of the journal")
        for turn in range(1, (head.state.turn if head else 0) + 1):
            if await container.artifacts.get(key.tenant, f"turn:{key.session}:{turn}") is None:
                found.append(f"turn {turn} has no artifact")
        return found
    finally:
        await sessions.close()
        await container.close()


def _says_something(event: Event) -> bool:
    return any(part.text for part in (event.content.parts if event.content else None) or [])


def _of_journal(kinds: list[CommitKind], versions: list[int]) -> list[str]:
    found = []
    if versions != list(range(len(versions), 0, -1)):
        found.append(f"versions {versions}")
    if set(kinds) - {CommitKind.COMMIT, CommitKind.KEPT}:
        found.append(f"kinds {kinds}")
    return found


def _of_evidence(turns: Sequence[Interaction], versions: set[int]) -> list[str]:
    answered = [turn for turn in turns if turn.outcome is Outcome.ANSWERED]
    found = []
    if {turn.ccs_version for turn in answered} != versions or len(answered) != len(versions):
        found.append(f"{len(answered)} answers of {len(versions)} versions")
    if any(turn.input.text for turn in turns if turn.invocation_id.startswith("lost:")):
        found.append("a turn that died has left its words")
    names = [turn.idempotency_key for turn in answered if turn.idempotency_key]
    if len(names) != len(set(names)):
        found.append("an idempotency key was taken twice")
    return found


async def turns_of(settings: Settings, key: SessionKey) -> int:
    """How many turns the session has."""
    container = build_container(settings)
    head = await container.journal.head(key)
    await container.close()
    return head.state.turn if head else 0


def kill_children(way: str, place: str, kills: int, rng: random.Random) -> list[str]:
    """Kill so many processes that run turns themselves; the problems they leave."""
    key, settings, reported = KEYS[way], stores(place), 0
    for _ in range(kills):
        first = reported + 1 if way == "conversation" else asyncio.run(turns_of(settings, key)) + 1
        reported = max(reported, _killed_child(way, place, first, rng))
        if found := asyncio.run(problems(settings, key)):
            return found
        if asyncio.run(turns_of(settings, key)) < reported:
            return [f"turn {reported} was answered and is gone"]
    return []


def _killed_child(way: str, place: str, first: int, rng: random.Random) -> int:
    child = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "tests.durability.turn_child", way, place, str(first), "9999"],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    reported = child.stdout.readline()
    if not reported:
        raise AssertionError(f"the child ended with {child.wait()}")
    time.sleep(rng.uniform(0.0, 0.4))
    child.kill()
    rest, _ = child.communicate()
    return max(int(line) for line in [reported, *rest.split()] if line.strip().isdigit())


def kill_cli(folder: Path, kills: int, rng: random.Random) -> list[str]:
    """Kill `acc-ace chat --script` and play the script again; each of its turns is taken once."""
    script, number = folder / "script.yaml", 4
    inputs = "".join(f"- {{input: 'Host {n} is slow.', id: 'n-{n}'}}\n" for n in range(number))
    script.write_text(f"turns:\n{inputs}", encoding="utf-8")
    command = [str(BIN / "acc-ace"), "chat", "--session", "kills", "--script", str(script)]
    env, settings = environment(folder / "data"), Settings(data_dir=folder / "data")
    for kill in [*([True] * kills), False]:
        playing = subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=ROOT, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if kill:
            with suppress(subprocess.TimeoutExpired):
                playing.wait(rng.uniform(1.5, 6.0))
            playing.kill()
        playing.wait()
        if found := asyncio.run(problems(settings, SERVED)):
            return found
    taken = asyncio.run(turns_of(settings, SERVED))
    return [] if taken == number else [f"{taken} turns of a script of {number}"]


def kill_servers(folder: Path, kills: int, rng: random.Random, *, ours: bool) -> list[str]:
    """Kill our server, or `adk api_server`, while a client takes turns."""
    settings, number = Settings(data_dir=folder / "data"), 0
    for _ in range(kills):
        with our_server(folder) if ours else adk_server("api_server", folder) as server:
            timer = threading.Timer(rng.uniform(0.05, 1.5), server.process.kill)
            timer.start()
            number = _turns_until_killed(server, number, ours=ours)
            timer.join()
        if found := asyncio.run(problems(settings, SERVED)):
            return found
        taken = asyncio.run(turns_of(settings, SERVED))
        # The one that was cut off may have been committed.
        if taken not in {number, number + 1} and ours:
            return [f"{taken} turns, and {number} were answered"]
    return []


def _turns_until_killed(server: Server, number: int, *, ours: bool) -> int:
    """How many turns were answered; turn N has the key 'n-N', so it is taken once."""
    with closing(httpx.Client(base_url=server.url, timeout=30)) as http, suppress(httpx.HTTPError):
        if not ours:
            http.post("/apps/acc_ace/users/user/sessions/kills", json={})
        while True:
            text = f"Host {number} is slow."
            if ours:
                headers = {"Idempotency-Key": f"n-{number}"}
                url = "/v1/sessions/kills/turns"
                answer = http.post(url, json={"input": text}, headers=headers)
            else:
                content = {"role": "user", "parts": [{"text": text}]}
                body = {"appName": "acc_ace", "userId": "user", "sessionId": "kills"}
                answer = http.post("/run", json={**body, "newMessage": content})
            if answer.status_code == httpx.codes.OK:
                number += 1
    return number
