"""The sessions of a process outlive its event loop, also one that ends in the middle of a write."""

import asyncio
import threading
from contextlib import ExitStack
from pathlib import Path

from core.adapters.adk_session import BoundedSessionService
from tests.server.test_cut_off_writes import MINE, gate_before, words

LOOP_WOULD_BE_OVER_S = 0.2
STANDS_STILL_S = 20.0


async def cut_off(service: BoundedSessionService, still_locked: ExitStack) -> None:
    """Return while a write that was cancelled still waits for the file."""
    session = await service.create_session(**MINE)
    gate = still_locked.enter_context(gate_before("INSERT INTO events"))
    write = asyncio.create_task(service.append_event(session, words("cut off")))
    await gate.reached.wait()
    write.cancel()
    await asyncio.sleep(0)
    # Now the loop cancels what is left. Only when it waits for that does it come to this.
    asyncio.get_running_loop().call_later(LOOP_WOULD_BE_OVER_S, gate.open)


async def go_on(service: BoundedSessionService) -> list[str]:
    session = await service.get_session(**MINE)
    assert session is not None
    await service.append_event(session, words("next"))
    stored = await service.get_session(**MINE)
    await service.close()
    return [event.invocation_id for event in stored.events] if stored else []


def test_a_loop_that_ends_in_a_cancelled_write_keeps_no_later_loop_from_the_sessions(
    tmp_path: Path,
) -> None:
    service = BoundedSessionService(tmp_path / "sessions.db")
    with ExitStack() as still_locked:
        asyncio.run(cut_off(service, still_locked))
    answers: list[list[str]] = []
    # On a thread, so that a call that never ends fails this test and not the whole run.
    later = threading.Thread(target=lambda: answers.append(asyncio.run(go_on(service))))
    later.daemon = True
    later.start()
    later.join(STANDS_STILL_S)
    assert answers == [["next"]]
