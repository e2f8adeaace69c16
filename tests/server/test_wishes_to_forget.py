"""Who wants something forgotten is shown what memory holds of it, and consents by its ids."""

import re

import httpx
import pytest

from tests.fakes.extensions import needs
from tests.server.asgi import say

pytestmark = needs("embedded")

SALARY = ("My salary is 90000 a year.", "What is my salary?")
SALARY_JA = ("私の給料は90000です。", "私の給料はいくらですか？")
WISHES = [
    (*SALARY, "Please forget my salary."),
    (*SALARY, "Forget what I told you about my salary."),
    (*SALARY, "Delete my salary from your memory."),
    (*SALARY, "Don't remember my salary any more."),
    (*SALARY, "Could you please forget everything I said about my salary?"),
    (*SALARY, "Erase my salary from memory, please."),
    (*SALARY, "You should forget about my salary."),
    (*SALARY, "Erase everything about my salary."),
    (*SALARY, "Stop remembering my salary."),
    (*SALARY, "Drop my salary from your memory."),
    (*SALARY_JA, "私の給料のことは忘れてください。"),
    (*SALARY_JA, "給料のことは忘れて"),
    (*SALARY_JA, "給料の話はもう忘れてください"),
    (*SALARY_JA, "私の給料を記憶から消してください。"),
    (*SALARY_JA, "給料のことはもう覚えなくていいよ。"),
]


@pytest.fixture
def http(key_free: httpx.AsyncClient) -> httpx.AsyncClient:
    """The key-free server."""
    return key_free


@pytest.mark.parametrize("where", ["a", "b"])
@pytest.mark.parametrize(("fact", "question", "wish"), WISHES)
async def test_a_wish_deletes_nothing_and_what_it_says_to_type_deletes_it_everywhere(
    http: httpx.AsyncClient, fact: str, question: str, wish: str, where: str
) -> None:
    await say(http, fact)
    assert "90000" in await say(http, question, "c")
    answer = await say(http, wish, where)
    command = re.search(r"/forget( \S+:\d+)+", answer)
    assert command is not None, answer
    assert "turn:a:1" in command[0]
    await say(http, "yes", where)
    assert "90000" in await say(http, question)
    assert "Deleted: turn:a:1" in await say(http, command[0], where)
    for session in ("a", "b", "c", "d"):
        assert "90000" not in await say(http, question, session)


async def test_ids_that_memory_does_not_hold_delete_nothing(http: httpx.AsyncClient) -> None:
    await say(http, SALARY[0])
    answer = await say(http, "/forget turn:a:1 turn:a:99")
    assert "Nothing was deleted: memory holds no artifact 'turn:a:99'" in answer
    assert "90000" in await say(http, SALARY[1])


async def test_a_wish_about_what_memory_does_not_hold_says_so(http: httpx.AsyncClient) -> None:
    await say(http, SALARY[0])
    assert "Memory holds nothing of 'my shoe size'" in await say(
        http, "Please forget my shoe size."
    )
