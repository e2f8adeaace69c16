"""What is held of a user in playbooks is exported, and erased with them."""

from pathlib import Path

from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import PlaybookScope, Tenant
from acc_ace.core.schemas.delta import Author
from tests.contract.playbooks import add
from tests.fakes.clock import START
from tests.pipeline.talk import Talk

AIKO = Tenant(APP_NAME, "aiko")
OWN, SHARED = PlaybookScope(*AIKO), PlaybookScope(APP_NAME)
BY = Author("aiko", START)


async def test_what_a_user_taught_is_exported_and_erased_with_the_user(tmp_path: Path) -> None:
    talk = Talk(Settings(store="sqlite", data_dir=tmp_path / "data"))
    stores = talk.container
    try:
        await add(stores, "own", scope=OWN)
        await add(stores, "of all", scope=SHARED)
        await add(stores, "hers", scope=SHARED, user="aiko")

        exported = [record async for record in talk.conversation.export(AIKO)]

        said = str(exported)
        for words in ("'own'", "'hers'"):
            assert words in said
        assert "of all" not in said
        erased = await talk.conversation.erase(AIKO)
        assert erased["playbook"] > 0
        assert not [
            record
            async for record in talk.conversation.export(AIKO)
            if "kind" in record and record["kind"] in {"playbook", "lesson"}
        ]
        for path in (tmp_path / "data" / "playbook").rglob("*.json*"):
            assert "aiko" not in path.read_text()
    finally:
        await talk.conversation.close()
