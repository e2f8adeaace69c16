"""Wiring: from settings to everything a process needs. Called once, by apps, main and cli."""

from functools import lru_cache, partial

from acc_ace.adk.artifact_services import open_artifacts
from acc_ace.adk.turn_parts import TurnParts
from acc_ace.clock import Clock, SystemClock
from acc_ace.config import Settings, settings
from acc_ace.container import Container
from acc_ace.core.text.arguments import checked
from acc_ace.hooks import EMBEDDERS, LEARNING, OWN_PLAYBOOKS, only
from acc_ace.memory.artifact_store import Embedder
from acc_ace.models.factory import register_models
from acc_ace.models.prices import load_prices
from acc_ace.storage.create_stores import create_stores
from acc_ace.storage.playbooks.export_folders import FOLDER, count_files
from acc_ace.turn.learning_queue import LearningQueue
from acc_ace.turn.spending import Spending


@checked
def build_container(chosen: Settings, clock: Clock | None = None) -> Container:
    """Open the stores of `chosen` and register our model names with ADK.

    Raises StoreError when the data directory cannot be used, ConfigError when something that the
    settings ask for is not installed, or the price table is wrong.
    """
    register_models()
    prices = load_prices(chosen.prices)
    time = clock or SystemClock()
    embedder = build_embedder(chosen)
    files = open_artifacts(chosen)
    stores = create_stores(chosen, time, embedder, files=files)
    learning = _learning_queue(chosen)

    async def close() -> None:
        if learning is not None:
            await learning.close()
        await stores.close()
        if embedder is not None:
            await embedder.close()

    return Container(
        settings=chosen,
        clock=time,
        artifacts=stores.artifacts,
        evidence=stores.evidence,
        journal=stores.journal,
        playbooks=stores.playbooks,
        lock=stores.lock,
        directory=stores.directory,
        tool_starts=stores.tool_starts,
        user_rules=stores.user_rules,
        ccm_records=stores.ccm_records,
        spending=Spending(stores.spending, prices, time, ceiling=chosen.max_cost),
        traces=stores.traces,
        database=stores.database,
        unit_of_work=stores.unit_of_work,
        erasure=stores.erasure,
        files=files,
        close=close,
        parts=TurnParts(),
        learning=learning,
        embedder=embedder,
        playbook_files=partial(count_files, chosen.data_dir / FOLDER),
        own_playbooks=OWN_PLAYBOOKS,
    )


def build_embedder(config: Settings) -> Embedder | None:
    """The embedder of the settings; None when there is none. Raises ConfigError."""
    if not config.embedder.model:
        return None
    return only(EMBEDDERS, "ACC_ACE_EMBEDDER__MODEL").build_embedder(config)


def _learning_queue(config: Settings) -> LearningQueue | None:
    if config.learning != "background":
        return None
    return only(LEARNING, "ACC_ACE_LEARNING=background").open_queue(config)


@lru_cache(maxsize=1)
def process_container() -> Container:
    """The container of this process, from its settings; shared by the apps and the server."""
    return build_container(settings())
