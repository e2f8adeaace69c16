"""What has no end in sight is stored and searched like any text: no work grows as its square."""

from datetime import UTC, datetime

from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

from acc_ace.adk.memory_service import ArtifactMemoryService
from acc_ace.core.text.search_terms import MAX_INDEX_TERMS, index_terms, query_terms
from acc_ace.memory.chunking import MAX_LOOKED_AT, excerpt
from tests.fakes.clock import FixedClock
from tests.fakes.stores import InMemoryArtifactStore


def test_a_match_behind_a_line_of_dots_is_found() -> None:
    text = "compile " + "." * (MAX_LOOKED_AT - 100) + "x\nThe valve leaks. " + "Filler. " * 500
    assert "The valve leaks." in excerpt(text, query_terms("valve"), 60)


def test_three_dots_end_a_sentence() -> None:
    text = "Filler text. " * 100 + "The valve leaks... Filler text? " + "More of it! " * 100
    assert "The valve leaks..." in excerpt(text, query_terms("valve"), 20)


def test_every_part_of_a_long_class_path_is_a_term() -> None:
    path = ":".join(f"lib/part{number}.jar" for number in range(6_000))
    terms = index_terms(path).split()
    assert {"part0", "part5999", "part5999jar"} <= set(terms)
    assert len(terms) == len(set(terms)) <= MAX_INDEX_TERMS


def test_a_path_of_100000_parts_has_no_more_terms_than_are_kept() -> None:
    assert len(index_terms("/".join(map(str, range(100_000)))).split()) == MAX_INDEX_TERMS


def test_a_stem_is_the_same_however_long_the_word() -> None:
    assert index_terms("7" * 1_000 + "s") == index_terms("7" * 64 + "s") == "7" * 64


async def test_a_build_log_of_dots_is_a_memory_like_any_other() -> None:
    memory = ArtifactMemoryService(InMemoryArtifactStore(), FixedClock())
    log = f"compile started\n{'.' * 100_000}x\nThe linker failed.{' Nothing more.' * 2_000}"
    said = types.Content(role="user", parts=[types.Part(text=log)])
    event = Event(
        author="user", timestamp=datetime(2026, 1, 1, tzinfo=UTC).timestamp(), content=said
    )
    await memory.add_session_to_memory(Session(app_name="a", user_id="u", id="s", events=[event]))
    found = await memory.search_memory(app_name="a", user_id="u", query="why did the linker fail")
    (entry,) = found.memories
    assert "The linker failed." in str(entry.content.parts)
