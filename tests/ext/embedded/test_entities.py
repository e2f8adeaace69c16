"""Claims about typed entities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.ext.embedded.entities import find_entities
from acc_ace.ext.embedded.text_match import unique
from tests.fakes.tables import each_case


@each_case
def test_a_named_thing_is_found_with_its_type(text: str, expected: str) -> None:
    assert expected in [str(entity) for entity in find_entities(text)]


@each_case
def test_ordinary_words_are_no_servers_people_or_teams(text: str) -> None:
    kinds = {entity.kind for entity in find_entities(text)}
    assert not kinds & {"server", "person", "team", "ticket"}


@pytest.mark.parametrize(
    ("text", "name"),
    [("please ask Sunita about it", "Sunita"), ("it was Monique who called", "Monique")],
)
def test_a_name_that_begins_like_a_day_is_still_a_name(text: str, name: str) -> None:
    assert f"person:{name}" in [str(entity) for entity in find_entities(text)]


def test_a_name_inside_a_url_is_not_found_twice() -> None:
    found = [str(item) for item in find_entities("https://db-01.example.com/INC-12 is slow")]
    assert found == ["url:https://db-01.example.com/INC-12"]


def test_the_first_mention_of_each_is_kept() -> None:
    assert unique(["server:DB-01", "server:db-01", "person:Bob"]) == ["server:DB-01", "person:Bob"]


@given(st.text(max_size=2_000))
def test_any_text_gives_bounded_entities_that_it_contains(text: str) -> None:
    found = find_entities(text)
    assert len(found) <= 64
    assert all(entity.name in text for entity in found)
