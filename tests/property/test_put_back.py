"""Whatever a callback takes out of a request, what was ours is there once again afterwards."""

from types import SimpleNamespace
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.adk.plugin.delivery import PutMemory, put_back_last, put_back_memory

LASTING = '# Memory\n\nYou are an agent.\n<input name="playbook">\n- Be brief.\n</input>'
CHANGING = '<input name="state">\nconstraints: none\nturn: 3\n</input>'


def content(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def call(name: str) -> types.Content:
    made = types.FunctionCall(name=name, args={"id": 1})
    return types.Content(role="model", parts=[types.Part(function_call=made)])


OTHERS = st.lists(
    st.one_of(
        st.builds(content, st.text(max_size=60), st.sampled_from(["user", "model"])),
        st.builds(call, st.sampled_from(["look", "send"])),
        st.builds(types.Content, role=st.just("user")),
    ),
    max_size=6,
)
INSTRUCTIONS = st.sampled_from([None, "", "Be rude.", f"Be kind.\n\n{LASTING}", LASTING])


def put_in(static: bool) -> PutMemory:
    """What is put into a request, of an agent with a static instruction or without."""
    contents = (LASTING, CHANGING) if static else (CHANGING,)
    return PutMemory("" if static else LASTING, contents, lambda: None)


def texts(request: LlmRequest) -> list[str]:
    parts = [part for each in request.contents for part in each.parts or []]
    return [str(request.config.system_instruction), *(part.text or "" for part in parts)]


@given(st.booleans(), OTHERS, st.data())
def test_what_is_ours_is_there_once_and_the_rest_untouched_and_in_order(
    static: bool, others: list[types.Content], data: st.DataObject
) -> None:
    put = put_in(static)
    own = [*map(content, put.contents)]
    whole = [*own, *others]
    stays = data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole)))
    kept = [each for each, stay in zip(whole, stays, strict=True) if stay]
    instruction = "Be kind." if static else data.draw(INSTRUCTIONS)
    request = LlmRequest(
        contents=[*kept], config=types.GenerateContentConfig(system_instruction=instruction)
    )
    before = [each.model_copy(deep=True) for each in others]
    lost = [each for each in own if not any(each is one for one in kept)]
    removed = bool(lost) or (not static and LASTING not in (instruction or ""))

    assert put.put_back(request) == removed
    assert request.contents == [*lost, *kept]
    assert others == before
    for ours in (LASTING, CHANGING):
        assert sum(text.count(ours) for text in texts(request)) == 1
    assert str(request.config.system_instruction).startswith(instruction or "")

    assert not put.put_back(request)
    assert request.contents == [*lost, *kept]


@given(st.booleans(), OTHERS, st.data())
def test_what_is_only_put_in_another_order_is_left_so(
    static: bool, others: list[types.Content], data: st.DataObject
) -> None:
    put = put_in(static)
    contents = data.draw(st.permutations([*map(content, put.contents), *others]))
    instruction = "Be kind." if static else LASTING
    request = LlmRequest(
        contents=[*contents], config=types.GenerateContentConfig(system_instruction=instruction)
    )
    assert not put.put_back(request)
    assert request.contents == contents


def test_memory_goes_into_the_request_that_it_was_put_into_and_into_no_other() -> None:
    agent = LlmAgent(name="clerk", model="gemini-3.5-flash")
    running: Any = SimpleNamespace(agent=agent)
    first, other = LlmRequest(), LlmRequest()
    put_back_last(running, first, PutMemory("", (CHANGING,), lambda: None))
    [last] = agent.canonical_before_model_callbacks
    put_back_memory(running, other)
    assert other.contents == []
    put_back_memory(running, first)
    assert texts(first)[1:] == [CHANGING]
    assert last is put_back_memory
