"""The answer is streamed out of a reply however it is cut, and hostile replies cost no more."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from acc_ace.adk.stages import answer_events as answer_stream
from acc_ace.adk.stages.answer_events import AnswerStream, _readable_answer

_TEXT = st.text(max_size=40)


def streamed(reply: str, *, size: int) -> str:
    stream = AnswerStream()
    return "".join(stream.feed(reply[at : at + size]) for at in range(0, len(reply), size))


@given(reasoning=st.lists(_TEXT, max_size=3), answer=_TEXT, size=st.integers(1, 50))
def test_any_answer_comes_out_as_it_went_in(reasoning: list[str], answer: str, size: int) -> None:
    reply = json.dumps({"reasoning": reasoning, "final_answer": answer, "bullet_ids": ["b-1"]})
    assert streamed(reply, size=size) == answer


@given(size=st.integers(1, 20))
def test_a_key_inside_another_value_is_not_the_answer(size: int) -> None:
    reply = (
        '{"reasoning":["\\"final_answer\\":\\"no\\"",{"final_answer":"no"}],'
        '"x":"final_answer","final_answer" : "yes"}'
    )
    assert streamed(reply, size=size) == "yes"


def test_nothing_is_told_after_the_answer_is_closed() -> None:
    stream = AnswerStream()
    assert stream.feed('{"final_answer":"yes"') == "yes"
    assert stream.feed(',"final_answer":"no"}') == ""


def test_a_fenced_reply_is_read_and_plain_text_is_passed_on() -> None:
    assert streamed('```json\n{"final_answer":"yes"}\n```', size=3) == "yes"
    assert streamed("Just text.", size=3) == "Just text."


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"final_answer":"yes", and so on', "yes"),
        ('{"final_answer":"ye', "ye"),
        ('{"final_answer":null}', ""),
        ("{x} is a set", ""),
    ],
    ids=["broken later", "cut", "null", "no JSON"],
)
def test_of_a_broken_reply_the_answer_is_read_as_far_as_it_goes(reply: str, answer: str) -> None:
    assert streamed(reply, size=1) == answer
    assert _readable_answer(reply) == answer


@pytest.mark.parametrize("filler", ['{"final_answer":"x"},', "x" * 20, "a line of words\n"])
def test_the_work_on_a_long_reply_is_linear(filler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counted(text: str, **options: Any) -> Any:
        nonlocal read
        read += len(text)
        return from_json(text, **options)

    monkeypatch.setattr(answer_stream, "from_json", counted)
    works = []
    for times in (1_500, 3_000):
        read = 0
        stream = AnswerStream()
        stream.feed('{"reasoning":["' if filler[0] != "{" else '{"reasoning":[')
        for _ in range(times):
            stream.feed(filler)
        works.append(read)
    assert works[1] < 2.5 * works[0]


def test_a_long_answer_comes_in_larger_chunks_and_whole_when_it_is_read_at_once() -> None:
    answer = "word " * 20_000
    reply = json.dumps({"final_answer": answer})
    reported = streamed(reply, size=10)
    assert answer.startswith(reported)
    assert len(reported) > 0.9 * len(answer)
    assert AnswerStream().feed(reply) == answer
