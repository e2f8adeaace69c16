"""Streams of the cockpit under load: nothing lost, nothing doubled, memory flat.

    python -m bench.timeline_load [--postgres] [--turns 60] [--clients 50] [--stalled 5]
                                  [--reconnects 200]

Live clients follow one session while its turns are committed and leave and come back at random;
others open a stream and never read. With SQLite one server is killed and started again half-way;
with --postgres there are two, the clients go to either, and the first one is the one that is
restarted. Every live client must hold each turn exactly once at the end.
"""

import argparse
import asyncio
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx

_READY_S = 60.0
_END_S = 90.0


@dataclass
class Server:
    """One server process over the shared store."""

    env: dict[str, str]
    port: int
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        env = {**os.environ, **self.env, "ACC_ACE_PORT": str(self.port)}
        self.process = await asyncio.create_subprocess_exec(sys.executable, "main.py", env=env)
        deadline = time.monotonic() + _READY_S
        async with httpx.AsyncClient() as http:
            while time.monotonic() < deadline:
                try:
                    if (await http.get(f"{self.url}/readyz")).status_code == 200:
                        return
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        raise RuntimeError(f"the server at {self.url} did not start in {_READY_S:.0f} s")

    async def kill(self) -> None:
        """Kill it, as a crash would."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()

    @property
    def rss_mb(self) -> float:
        """Its resident memory."""
        if self.process is None:
            return 0.0
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Reconnects:
    """How many times clients may still leave on their own."""

    left: int
    made: int = 0

    def take(self) -> bool:
        """One of them, if any is left."""
        if self.left:
            self.left, self.made = self.left - 1, self.made + 1
            return True
        return False


@dataclass
class Client:
    """Follows the session until it has seen its last turn."""

    number: int
    servers: list[Server]
    turns: int
    reconnects: Reconnects
    seen: list[int] = field(default_factory=list)

    async def follow(self) -> None:
        """Read, leave now and then, come back to any server with the last id."""
        chance = random.Random(self.number)  # noqa: S311 - a walk, no secret
        last = ""
        async with httpx.AsyncClient(timeout=30) as http:
            while not self.seen or self.seen[-1] < self.turns:
                url = chance.choice(self.servers).url
                try:
                    async for name, event_id in _events(http, url, last):
                        if name == "turn":
                            last = event_id
                            self.seen.append(int(event_id.rpartition("/")[2]))
                        if self.seen and self.seen[-1] >= self.turns:
                            return
                        if chance.random() < 0.15 and self.reconnects.take():
                            break
                except httpx.TransportError:
                    await asyncio.sleep(0.2)


async def _events(http: httpx.AsyncClient, url: str, last: str) -> AsyncIterator[tuple[str, str]]:
    query = {"session": "load", "after": "0"}
    headers = {"Last-Event-ID": last} if last else {}
    async with http.stream("GET", f"{url}/sse/timeline", params=query, headers=headers) as stream:
        if stream.status_code != 200:
            await asyncio.sleep(0.2)
            return
        event_id = ""
        async for line in stream.aiter_lines():
            if line.startswith("id: "):
                event_id = line[4:]
            elif line.startswith("event: "):
                yield line[7:], event_id


def stall(server: Server) -> socket.socket:
    """A client with a small window that asks for the stream and never reads."""
    stalled = socket.socket()
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    stalled.connect(("127.0.0.1", server.port))
    stalled.sendall(b"GET /sse/timeline?session=load&after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return stalled


async def speak(servers: list[Server], first: int, last: int) -> None:
    """Commit turns of the session, each on the server whose turn it is."""
    async with httpx.AsyncClient(timeout=60) as http:
        for turn in range(first, last + 1):
            said = {"input": f"Disk {turn} of db-01 is at {turn} %. " + "Noted again. " * 40}
            url = servers[turn % len(servers)].url
            sent = await http.post(f"{url}/v1/sessions/load/turns", json=said)
            sent.raise_for_status()


async def run(servers: list[Server], options: argparse.Namespace) -> bool:
    """One run; prints what came, and whether all of it came once."""
    for server in servers:
        await server.start()
    await speak(servers, 1, 1)
    reconnects = Reconnects(options.reconnects)
    clients = [Client(n, servers, options.turns, reconnects) for n in range(options.clients)]
    following = [asyncio.create_task(client.follow()) for client in clients]
    stalled = [stall(servers[-1]) for _ in range(options.stalled)]
    quarter = options.turns // 4
    await speak(servers, 2, quarter)
    await servers[0].kill()
    await servers[0].start()
    memory: list[list[float]] = []
    for part in (1, 2, 3):
        await speak(servers, part * quarter + 1, (part + 1) * quarter)
        memory.append([server.rss_mb for server in servers])
    await speak(servers, 4 * quarter + 1, options.turns)
    async with asyncio.timeout(_END_S):
        await asyncio.gather(*following)
    for each in stalled:
        each.close()
    for server in servers:
        await server.kill()
    wanted = [*range(1, options.turns + 1)]
    lost = sum(len({*wanted} - {*client.seen}) for client in clients)
    doubled = sum(len(client.seen) - len({*client.seen}) for client in clients)
    shown = " / ".join(
        ", ".join(f"{rss:.0f}" for rss in each) for each in zip(*memory, strict=True)
    )
    print(
        f"{len(servers)} server(s), {options.turns} turns, {options.clients} live and "
        f"{options.stalled} stalled clients, {reconnects.made} reconnects, 1 restart: "
        f"{lost} events lost, {doubled} doubled; memory after each quarter since the restart "
        f"{shown} MB"
    )
    return not lost and not doubled


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--postgres", action="store_true")
    for name, default in (("turns", 60), ("clients", 50), ("stalled", 5), ("reconnects", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        env = {"ACC_ACE_DATA_DIR": folder, "ACC_ACE_SERVE_WEB_INTERFACE": "false"}
        if options.postgres:
            from tests.fakes.postgres_server import running_postgres  # noqa: PLC0415

            postgres = stack.enter_context(running_postgres())
            env |= {"ACC_ACE_STORE": "postgres", "ACC_ACE_DATABASE_URL": postgres.new_database()}
        servers = [Server(env, _free_port()) for _ in range(2 if options.postgres else 1)]
        return 0 if asyncio.run(run(servers, options)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
