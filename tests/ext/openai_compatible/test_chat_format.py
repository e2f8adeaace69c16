"""Writing requests and reading replies in the chat completion format."""

import json
from contextlib import suppress
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.errors import ModelOutputError
from acc_ace.ext.openai_compatible.chat_reply import ChatReply
from acc_ace.ext.openai_compatible.chat_request import (
    bound_to_json,
    bound_to_schema,
    chat_body,
    messages_of,
    schema_asked,
    told_schema,
)
from schemas.commit import CompressorReply
from schemas.delta import DeltaBatch
from schemas.generation import GeneratorOutput
from schemas.qualification import RelevanceBatch
from schemas.reflection import Reflection


def call(name: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def result(name: str, value: str, *, call_id: str | None = None) -> types.Part:
    response = types.FunctionResponse(id=call_id, name=name, response={"result": value})
    return types.Part(function_response=response)


def content(role: str, *parts: types.Part) -> types.Content:
    return types.Content(role=role, parts=list(parts))


def test_ids_that_adk_left_out_are_made_up_and_matched_in_order() -> None:
    request = LlmRequest(
        contents=[
            content("user", types.Part(text="go")),
            content("model", call("f", x=1), call("g"), call("f", x=2)),
            content("user", result("f", "one"), result("g", "mid"), result("f", "two")),
        ]
    )
    _, assistant, *tools = messages_of(request, model="m")
    ids = [item["id"] for item in assistant["tool_calls"]]
    assert len(set(ids)) == 3
    assert [item["tool_call_id"] for item in tools] == ids
    assert [json.loads(item["content"])["result"] for item in tools] == ["one", "mid", "two"]


def test_thoughts_are_not_sent_back() -> None:
    thought = types.Part(text="secret plan", thought=True)
    request = LlmRequest(contents=[content("model", thought, types.Part(text="hello"))])
    assert messages_of(request, model="m") == [{"role": "assistant", "content": "hello"}]


def test_tool_mode_is_kept() -> None:
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="f")])
    calling = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
    request = LlmRequest()
    request.config.tools = [tool]
    request.config.tool_config = types.ToolConfig(function_calling_config=calling)
    assert chat_body(request, model="m")["tool_choice"] == "required"


def test_optional_properties_stay_optional_on_the_wire() -> None:
    for model in (CompressorReply, DeltaBatch, GeneratorOutput, RelevanceBatch, Reflection):
        schema = model.model_json_schema()
        wire = bound_to_schema({}, schema)["response_format"]["json_schema"]
        assert (wire["schema"], "strict" in wire) == (schema, False)


def test_a_reply_has_no_properties_that_nobody_named() -> None:
    closed = schema_asked(asking_for(DeltaBatch.model_json_schema()))
    assert closed is not None
    assert closed["additionalProperties"] is False
    assert closed["$defs"]["DeltaOperation"]["additionalProperties"] is False


def test_an_object_that_its_author_opened_stays_open() -> None:
    names = {"type": "object", "additionalProperties": {"type": "string"}}
    free = {"type": "object"}
    schema = {"type": "object", "properties": {"names": names, "free": free}}
    closed = schema_asked(asking_for(schema))
    assert closed is not None
    assert closed["properties"] == {"names": names, "free": free}


def asking_for(schema: dict[str, Any]) -> LlmRequest:
    return LlmRequest(config=types.GenerateContentConfig(response_json_schema=schema))


@pytest.mark.parametrize("tell", [bound_to_json, told_schema])
def test_schema_told_in_words_leaves_the_first_body_alone(tell: Any) -> None:
    body = {"messages": [{"role": "system", "content": "Be brief."}]}
    reported = tell(body, {"type": "object"})
    assert body["messages"][0]["content"] == "Be brief."
    assert reported["messages"][0]["content"].startswith("Be brief.")
    assert reported["messages"][0]["content"].endswith('{"type": "object"}')


def whole(*chunks: Any) -> Any:
    reply = ChatReply(model="m")
    for chunk in chunks:
        reply.add(chunk)
    return reply.whole()


def piece(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta}]}


def test_tool_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    first = {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    second = {"id": "b", "function": {"name": "f", "arguments": '{"x": '}}
    rest = {"id": "b", "function": {"arguments": "2}"}}
    response = whole(piece(tool_calls=[first, second]), piece(tool_calls=[rest]))
    assert [item.args for item in response.get_function_calls()] == [{"x": 1}, {"x": 2}]
    assert [item.id for item in response.get_function_calls()] == ["a", "b"]


def test_tool_call_far_out_of_order_is_an_output_error() -> None:
    with pytest.raises(ModelOutputError, match="out of order"):
        whole(piece(tool_calls=[{"index": 9, "function": {"name": "f"}}]))


def test_thoughts_of_the_model_are_kept_apart_from_its_text() -> None:
    response = whole(piece(reasoning_content="hm"), piece(content="yes"))
    thought, text = response.content.parts
    assert (thought.text, thought.thought) == ("hm", True)
    assert (text.text, text.thought) == ("yes", None)


def test_reasoning_tokens_are_counted_once() -> None:
    details = {"reasoning_tokens": 30}
    usage = {"prompt_tokens": 5, "completion_tokens": 40, "completion_tokens_details": details}
    counted = whole({"choices": [], "usage": usage}).usage_metadata
    assert (counted.candidates_token_count, counted.thoughts_token_count) == (10, 30)
    assert counted.total_token_count == 45


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(max_size=12), items),
    max_leaves=12,
)
KEYS = st.sampled_from(["choices", "delta", "message", "tool_calls", "usage", "content", "index"])


@given(body=st.dictionaries(KEYS, JSON, max_size=4), choice=st.dictionaries(KEYS, JSON))
def test_any_json_is_read_or_is_a_model_output_error(
    body: dict[str, Any], choice: dict[str, Any]
) -> None:
    # Anything else that is raised fails the test.
    with suppress(ModelOutputError):
        whole({**body, "choices": [choice]})
