"""Several processes teach one playbook at the same time, and every lesson is accounted for."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.playbook.playbook_versions import content_digest
from acc_ace.core.schemas.playbook import DeltaRecord
from tests.durability.opening import SCOPE, playbook_store
from tests.e2e.processes import ROOT, environment


def learner(place: str, folder: Path, name: str, operations: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "tests.durability.learner", place, name, str(operations)],
        cwd=ROOT,
        env=environment(folder, PYTHONWARNINGS="ignore"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def whole_log(store: PlaybookStore) -> list[DeltaRecord]:
    """Every record, oldest first."""
    records: list[DeltaRecord] = []
    before: int | None = None
    while page := await store.deltas(SCOPE, limit=1_000, before=before):
        records += page
        before = page[-1].seq
    return records[::-1]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").clean_database())
    return str(tmp_path / "data")


@pytest.mark.parametrize(
    ("learners", "operations"), [(2, 60), pytest.param(8, 500, marks=pytest.mark.soak)]
)
async def test_processes_that_teach_one_playbook_lose_no_delta(
    learners: int, operations: int, place: str, tmp_path: Path
) -> None:
    processes = [
        learner(place, tmp_path, f"learner-{number}", operations) for number in range(learners)
    ]
    ended = Counter[str]()
    for process in processes:
        said, complaints = process.communicate(timeout=300)
        assert process.returncode == 0, complaints[-4_000:]
        ended.update(json.loads(said)["ended"])

    assert ended.total() == learners * operations
    # The operations are such that some end in each of these ways.
    assert min(ended["applied"], ended["rejected"]) > 0
    async with playbook_store(place) as store:
        log, stored = await whole_log(store), await store.load(SCOPE)
        assert Counter(record.status.value for record in log) == ended
        by = Counter(record.session for record in log)
        assert by == {f"learner-{number}": operations for number in range(learners)}
        assert [record.seq for record in log] == list(range(1, len(log) + 1))
        replayed = await store.replay(SCOPE)
        assert replayed.dumps() == stored.playbook.dumps()
        assert content_digest(replayed) == stored.digest
        versions = await store.versions(SCOPE, limit=10_000)
        assert [item.version for item in versions] == list(range(stored.version, 0, -1))
        applied = sum(sum(item.counts.values()) for item in versions)
        assert applied == ended["applied"]
