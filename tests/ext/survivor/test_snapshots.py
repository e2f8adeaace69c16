"""Run files keep whole lines whatever happens; settings reach a running loop."""

import asyncio
import json
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from acc_ace.errors import InputError, StoreError
from acc_ace.ext.survivor.snapshots import (
    LONGEST_LINE,
    SettingsPort,
    SnapshotWriter,
    read_snapshots,
)
from acc_ace.ext.survivor.survival import Action, Body, LoopSettings, LoopSnapshot, Plan, Scoreboard


def snapshot(tick: int, **changes: object) -> LoopSnapshot:
    made = LoopSnapshot(
        run="run-1",
        seed=1,
        episode=1,
        tick=tick,
        step=6 * tick,
        at="2026-11-23T00:00:00Z",
        place=(3, 4),
        side=32,
        view=("oxo", "ooo", "oRo"),
        path=((3, 3), (3, 4)),
        body=Body(life=7, food=20, water=31, most_life=10, most_food=40, most_water=40),
        unknown=0.5,
        fear=0.125,
        curiosity=0.5,
        threshold=0.6,
        exploration=0.5,
        plan=Plan(objective="find water", actions=(Action(type="move", target="north"),)),
        steps=(),
        scoreboard=Scoreboard(external={"survival": 0.1}, total=0.1),
    )
    return made.model_copy(update=changes)


def lines_of(path: Path) -> list[LoopSnapshot]:
    """The snapshots of a file that has nothing to report."""
    return list(read_snapshots(path, pytest.fail))


def read_reporting(path: Path) -> tuple[list[int], list[str]]:
    reported: list[str] = []
    return [read.tick for read in read_snapshots(path, reported.append)], reported


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """A disk that is full from `size` bytes of any file on."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    written = [snapshot(tick, died_of="改行\n" * (tick == 2)) for tick in (1, 2, 3)]
    with closing(SnapshotWriter(path)) as writer:
        for each in written:
            writer.write(each)
            assert lines_of(path)[-1] == each
    assert lines_of(path) == written


def test_an_earlier_run_in_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for tick in (1, 2):
        with closing(SnapshotWriter(path)) as writer:
            writer.write(snapshot(tick))
    assert [read.tick for read in lines_of(path)] == [1, 2]


def test_a_full_disk_is_named_once_and_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = SnapshotWriter(path)
    writer.write(snapshot(1))
    # The second line begins to be written and does not end.
    with file_size_limit(path.stat().st_size + 100):
        with pytest.raises(StoreError, match=r"run\.jsonl cannot be written.* before 2 of") as full:
            writer.write(snapshot(2))
        assert "large" in str(full.value)
    assert [read.tick for read in lines_of(path)] == [1]
    with pytest.raises(StoreError, match=r"run\.jsonl is closed since a disk error"):
        writer.write(snapshot(3))
    writer.close()
    assert [read.tick for read in lines_of(path)] == [1]


def test_a_device_without_room_is_reported() -> None:
    with (
        closing(SnapshotWriter(Path("/dev/full"))) as writer,
        pytest.raises(StoreError, match="/dev/full cannot be written: No space left"),
    ):
        writer.write(snapshot(1))


def test_a_closed_writer_refuses(tmp_path: Path) -> None:
    writer = SnapshotWriter(tmp_path / "run.jsonl")
    writer.close()
    with pytest.raises(StoreError, match=r"run\.jsonl is closed"):
        writer.write(snapshot(1))


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere/run\.jsonl cannot be written"):
        SnapshotWriter(tmp_path / "nowhere" / "run.jsonl")
    with pytest.raises(StoreError, match=r"none\.jsonl cannot be read"):
        lines_of(tmp_path / "none.jsonl")


def test_a_torn_last_line_is_reported_and_the_next_run_begins_below_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with closing(SnapshotWriter(path)) as writer:
        writer.write(snapshot(1))
        writer.write(snapshot(2))
    path.write_bytes(path.read_bytes()[:-40])
    ticks, reported = read_reporting(path)
    assert (ticks, len(reported)) == ([1], 1)
    assert "line 2 is torn" in reported[0]
    with closing(SnapshotWriter(path)) as writer:
        writer.write(snapshot(3))
    assert read_reporting(path) == ([1, 3], reported)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"version": 1, "run": "run-', "line 2 is torn"),
        (b"\xff\xfe\x00", "line 2 is torn"),
        (b"[" * 100_000, "line 2 is torn"),
        (b"[]", "line 2 is no snapshot"),
        (b'{"version": 1}', "line 2 is no snapshot (run: Field required)"),
        (b'"' + b"x" * 3 * LONGEST_LINE + b'"', "line 2 is longer than 1,000,000 bytes"),
    ],
)
def test_a_bad_line_in_the_middle_is_left_out(tmp_path: Path, line: bytes, said: str) -> None:
    path = tmp_path / "run.jsonl"
    good = [snapshot(tick).model_dump_json().encode() for tick in (1, 2)]
    path.write_bytes(b"\n".join([good[0], line, b"", good[1]]))
    ticks, reported = read_reporting(path)
    assert ticks == [1, 2]
    assert len(reported) == 1
    assert said in reported[0]


def test_another_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({**snapshot(1).model_dump(mode="json"), "version": 7}))
    with pytest.raises(InputError, match=r"line 1 is a snapshot of version 7; .* version 1"):
        lines_of(path)


def test_settings_change_from_any_thread() -> None:
    port = SettingsPort()
    changer = threading.Thread(
        target=port.change, kwargs={"danger_threshold": 0.3, "log_detail": "brief"}
    )
    changer.start()
    changer.join()
    assert port.take() == LoopSettings(danger_threshold=0.3, log_detail="brief")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"danger_threshold": 0.95}, "danger_threshold: .* less than or equal to 0.9"),
        ({"exploration": "much"}, "exploration: .* valid number"),
        ({"exploration": float("nan")}, "exploration"),
        ({"speed": 2}, "no such setting: speed; there are danger_threshold"),
    ],
)
def test_a_bad_setting_changes_none(fields: dict[str, object], said: str) -> None:
    port = SettingsPort()
    with pytest.raises(InputError, match=said):
        port.change(notifications=False, **fields)
    assert port.take() == LoopSettings()


async def test_a_paused_loop_lives_a_tick_for_each_step_until_it_goes_on() -> None:
    port, lived = SettingsPort(LoopSettings(paused=True)), asyncio.Queue[int]()

    async def live() -> None:
        for tick in range(1, 6):
            await port.wait_while_paused()
            lived.put_nowait(tick)

    loop = asyncio.create_task(live())
    for tick in (1, 2):
        await asyncio.to_thread(port.step)
        assert await lived.get() == tick
    assert lived.empty()
    await asyncio.to_thread(port.change, paused=False)
    await loop
    assert lived.qsize() == 3


async def test_steps_of_a_loop_that_runs_are_not_saved_up_for_a_pause() -> None:
    port = SettingsPort()
    port.step()
    port.change(paused=True)
    waiting = asyncio.create_task(port.wait_while_paused())
    await asyncio.wait([waiting], timeout=0)
    assert not waiting.done()
    waiting.cancel()
    port.change(paused=False)
    await port.wait_while_paused()
