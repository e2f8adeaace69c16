"""Processes within bounds: what is cancelled before its turn never starts."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acc_ace.ext.sandbox.bounded_process import Job, run_job


def job(*command: str) -> Job:
    return Job(command, 20, 1_000, env={"PATH": "/usr/bin:/bin"})


async def test_a_command_that_is_cancelled_while_all_threads_are_busy_never_starts(
    tmp_path: Path,
) -> None:
    busy = [asyncio.create_task(run_job(job("sleep", "0.7"))) for _ in range(40)]
    late = asyncio.create_task(run_job(job("touch", str(tmp_path / "started"))))
    await asyncio.sleep(0.2)
    begun = time.monotonic()
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late
    assert time.monotonic() - begun < 0.5
    assert {end.code for end in await asyncio.gather(*busy)} == {0}
    await run_job(job("true"))
    assert not (tmp_path / "started").exists()


async def test_what_keeps_the_threads_of_the_loop_busy_holds_no_command_up() -> None:
    with ThreadPoolExecutor(1) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        other = asyncio.create_task(asyncio.to_thread(time.sleep, 2))
        await asyncio.sleep(0.1)
        assert (await run_job(job("true"))).code == 0
        assert not other.done()
        await other
