"""The answer is streamed out of a reply however it is cut, and hostile replies cost no more."""

import json

from hypothesis import given
from hypothesis import strategies as st

from core.domain.answer_stream import AnswerStream

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


def test_megabytes_that_never_reach_the_answer_are_read_once() -> None:
    stream = AnswerStream()
    nested = '{"reasoning":[' + '{"final_answer":"x"},' * 50_000
    assert streamed(nested, size=100) == ""
    assert stream.feed('{"reasoning":["') == ""
    for _ in range(20_000):
        assert stream.feed("x" * 100) == ""
    assert stream.feed('"],"final_answer":"hi') == "hi"
