"""After erasing a user, no byte of the user's words is left in the data directory."""

from pathlib import Path

from acc_ace.config import Settings
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.storage.create_stores import create_stores
from tests.contract.values import KEY, OTHER_USER, artifact, asking, entry, interaction, record
from tests.fakes.clock import FixedClock

MARKER = "zyzzyvamarker"


def residue(directory: Path) -> list[str]:
    marker = MARKER.encode()
    files = (file for file in directory.rglob("*") if file.is_file())
    return [file.name for file in files if marker in file.read_bytes()]


async def test_erased_words_are_in_no_file(tmp_path: Path, clock: FixedClock) -> None:
    stores = create_stores(Settings(data_dir=tmp_path), clock)
    for number in range(1, 40):
        text = f"{MARKER} turn {number} " + "filler " * 200
        await stores.journal.append(KEY, entry(number, text), expected_version=number - 1)
        await stores.evidence.record(KEY, interaction(number, text))
        await stores.artifacts.add([artifact(f"a{number}", text)])
        await stores.artifacts.add(
            [artifact(f"o{number}", "of others", tenant=OTHER_USER.tenant, at=number)]
        )
    current = await stores.playbooks.load(own := PlaybookScope(KEY.app, KEY.user))
    added = current.playbook.add_bullet("rules", f"{MARKER} lesson")
    await stores.playbooks.commit(
        own, added.playbook, [record("ADD", after=added.bullet)], expected_version=0
    )
    async with stores.lock.hold(KEY, wait_s=0):
        pass
    assert residue(tmp_path)

    await stores.journal.erase(KEY.tenant)
    await stores.evidence.erase(KEY.tenant)
    await stores.artifacts.erase(KEY.tenant)
    await stores.playbooks.erase(KEY.tenant)

    assert residue(tmp_path) == []
    assert (await stores.artifacts.recall(asking("others", key=OTHER_USER))).candidates
    await stores.close()
    assert residue(tmp_path) == []
