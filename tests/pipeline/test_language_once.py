"""The language analyses of a turn: once for each text, however many steps ask, off the loop."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acc_ace import Conversation, build_container
from acc_ace.core.text.rules import own_words
from acc_ace.core.text.rules.quoted_spans import lines_of_speaker
from acc_ace.memory.ranking import SearchQuery, fitted, search_query
from acc_ace.storage import sql_artifacts
from config import ROLES, Settings
from schemas.artifact import RecallQuery
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY

LONG = " ".join(f"Batch {number} of the night went well." for number in range(400))


@pytest.mark.parametrize(
    "said",
    [
        "Never restart db-07 during business hours, and help me plan the 14th failover.",
        f"{LONG} Never restart db-08 during business hours.",
    ],
    ids=["short", "long"],
)
async def test_rules_are_looked_for_once_in_each_text_of_a_turn(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[str] = Counter()

    def counted(text: str) -> Iterator[str]:
        read[text] += 1
        return lines_of_speaker(text)

    monkeypatch.setattr(own_words, "lines_of_speaker", counted)
    container = build_container(Settings(data_dir=tmp_path / "data"))
    # Its Compressor proposes nothing: what it would look for is not part of the turn.
    quiet = ScriptedLlm().on("compressor", {"semantic_gist": "A talk."})
    talk = Conversation(container, models=dict.fromkeys(ROLES, quiet))

    await talk.turn(KEY, said)
    await talk.close()
    await container.close()

    assert read[said] == 1
    assert [text for text, times in read.items() if times > 1] == []


async def test_x_t_is_analysed_off_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, set[int]] = {"rules": set(), "query": set(), "excerpts": set()}

    def sentences(text: str) -> Iterator[str]:
        threads["rules"].add(threading.get_ident())
        return lines_of_speaker(text)

    def query(asked: RecallQuery) -> SearchQuery:
        threads["query"].add(threading.get_ident())
        return search_query(asked)

    def excerpts(*asked: Any) -> Any:
        threads["excerpts"].add(threading.get_ident())
        return fitted(*asked)

    monkeypatch.setattr(sql_artifacts, "fitted", excerpts)
    monkeypatch.setattr(own_words, "lines_of_speaker", sentences)
    monkeypatch.setattr(sql_artifacts, "search_query", query)
    container = build_container(Settings(data_dir=tmp_path / "data"))
    # Its Compressor proposes nothing: what it would look for is not part of the turn.
    quiet = ScriptedLlm().on("compressor", {"semantic_gist": "A talk."})
    talk = Conversation(container, models=dict.fromkeys(ROLES, quiet))

    for said in ("db-11 is slow.", "Never restart db-11 during the 15th drill."):
        await talk.turn(KEY, said)
    await talk.close()
    await container.close()

    assert all(threads.values())
    assert threading.get_ident() not in set().union(*threads.values())
