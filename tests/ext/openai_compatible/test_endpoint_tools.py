"""Tools over HTTP: an endpoint gets what its model can do, and calls the tool in any case."""

import json
from functools import partial
from typing import Any, get_args

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types

from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.errors import ModelUnavailable
from acc_ace.ext.openai_compatible.client import OpenAICompatibleLlm
from acc_ace.model_settings import ToolForm
from tests.fakes.fake_openai import (
    FakeOpenAI,
    Kind,
    calls_functions,
    fake_openai,
    http_error,
    says,
    with_tool,
)
from tests.fakes.loopback import HttpReply, Received

FORMS: dict[Kind, ToolForm] = {
    "openai": "with_schema",
    "llama-server": "native",
    "coder": "written",
    "toolless": "written",
}
"""What the probe finds about each kind of endpoint."""


def restart(host: str, reason: str = "") -> dict[str, str]:
    """Restart a server."""
    return {"host": host, "reason": reason}


def asked(schema: Any, *more: types.Content) -> LlmRequest:
    question = types.Content(role="user", parts=[types.Part(text="Restart web-03 now.")])
    request = LlmRequest(contents=[question, *more])
    request.config.system_instruction = "You operate servers."
    request.append_tools([FunctionTool(restart)])
    if schema is not None:
        request.set_output_schema(schema)
    return request


def wants_restart(kind: Kind, received: Received) -> HttpReply:
    return with_tool(received.body, kind, "restart", {"host": "web-03"}, "Restarting web-03 now.")


def llm(endpoint: FakeOpenAI, **options: Any) -> OpenAICompatibleLlm:
    return OpenAICompatibleLlm(model="openai/small", base_url=endpoint.base_url, **options)


async def ask(
    model: OpenAICompatibleLlm, request: LlmRequest, *, stream: bool = False
) -> list[LlmResponse]:
    return [item async for item in model.generate_content_async(request, stream=stream)]


def text_of(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content else None) or []
    return "".join(part.text or "" for part in parts)


def sends_both(body: dict[str, Any]) -> bool:
    return "tools" in body and "response_format" in body


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("schema", [GeneratorOutput, None])
@pytest.mark.parametrize("kind", get_args(Kind))
async def test_tool_is_called_whatever_the_endpoint_can(
    kind: Kind, schema: Any, stream: bool
) -> None:
    with fake_openai(kind=kind) as endpoint:
        endpoint.script("generator", partial(wants_restart, kind))
        endpoint.script(0, partial(wants_restart, kind))
        *chunks, whole = await ask(llm(endpoint), asked(schema), stream=stream)
        [sent] = endpoint.requests
    [call] = whole.get_function_calls()
    assert (call.name, call.args) == ("restart", {"host": "web-03"})
    assert sends_both(sent.body) is (kind == "openai" and schema is not None)
    # Of a call nothing is shown as text, however the model wrote it.
    assert schema is not None or "".join(map(text_of, chunks)) == ""


@pytest.mark.parametrize(("kind", "form"), FORMS.items())
async def test_endpoint_is_asked_once_a_process_for_each_model(kind: Kind, form: ToolForm) -> None:
    with fake_openai(kind=kind) as endpoint:
        assert [await llm(endpoint).tool_form() for _ in range(3)] == [form] * 3
        asked_once = len(endpoint.probes)
        assert asked_once <= 2
        other = OpenAICompatibleLlm(model="openai/other", base_url=endpoint.base_url)
        await other.tool_form()
        assert len(endpoint.probes) == 2 * asked_once


@pytest.mark.parametrize("form", ["native", "written", "with_schema"])
async def test_setting_takes_the_place_of_the_probe(form: ToolForm) -> None:
    with fake_openai() as endpoint:
        endpoint.script(0, partial(wants_restart, "openai"))
        await ask(llm(endpoint, tools=form), asked(GeneratorOutput))
        assert endpoint.probes == []
        assert sends_both(endpoint.requests[0].body) is (form == "with_schema")
        assert ("tools" in endpoint.requests[0].body) is (form != "written")


async def test_endpoint_that_is_down_is_not_taken_for_one_that_cannot_call() -> None:
    with fake_openai() as endpoint:
        endpoint.answer_probes(http_error(503))
        with pytest.raises(ModelUnavailable, match="HTTP 503"):
            await ask(llm(endpoint), asked(None))
        endpoint.answer_probes(None)
        assert await llm(endpoint).tool_form() == "with_schema"


@pytest.mark.parametrize(
    ("kind", "reply", "text"),
    [
        ("llama-server", says("Done, in plain words."), "Done, in plain words."),
        ("llama-server", says('{"final_answer": "Done."}'), '{"final_answer": "Done."}'),
        ("coder", says('{"final_answer": "Done."}'), '{"final_answer": "Done."}'),
    ],
)
async def test_answer_beside_tools_is_words_or_json_in_text(
    kind: Kind, reply: HttpReply, text: str
) -> None:
    with fake_openai(kind=kind) as endpoint:
        endpoint.script(0, reply)
        whole = (await ask(llm(endpoint), asked(GeneratorOutput)))[-1]
        told = json.dumps(endpoint.requests[0].body)
    assert text_of(whole) == text
    assert "final_answer" in told


async def test_model_that_calls_no_tool_itself_answers_in_words_where_no_schema_is_asked() -> None:
    with fake_openai(kind="coder") as endpoint:
        endpoint.script(0, says('{"answer": "It is up."}'))
        *chunks, whole = await ask(llm(endpoint), asked(None), stream=True)
    assert (text_of(whole), whole.get_function_calls()) == ("It is up.", [])
    assert "".join(map(text_of, chunks)) == ""


WRITTEN = [
    '{"tool": "restart", "arguments": {"host": "web-03"}}',
    '{"name": "restart", "arguments": {"host": "web-03"}}',
    '```json\n{"name": "restart", "arguments": {"host": "web-03"}}\n```',
    '```\n{"name": "restart", "arguments": {"host": "web-03"}}```',
    '<tool_call>\n{"name": "restart", "arguments": {"host": "web-03"}}\n</tool_call>',
]
NO_CALLS = [
    '{"name": "reboot", "arguments": {"host": "web-03"}}',
    '{"name": "restart", "arguments": "web-03"}',
    '{"name": "restart", "arguments": {"host": "web-03"}, "note": "as an example"}',
    'Send {"name": "restart", "arguments": {"host": "web-03"}} to restart it.',
    '```json\n{"name": "restart", "arguments": {"host": \n```',
    "{",
    "",
]


@pytest.mark.parametrize(
    ("text", "calls"), [(text, 1) for text in WRITTEN] + [(text, 0) for text in NO_CALLS]
)
async def test_only_a_reply_that_is_nothing_but_a_call_of_a_tool_is_one(
    text: str, calls: int
) -> None:
    with fake_openai() as endpoint:
        endpoint.script(0, says(text))
        whole = (await ask(llm(endpoint, tools="native"), asked(None)))[-1]
    assert len(whole.get_function_calls()) == calls
    assert text_of(whole) == ("" if calls else text)


def call_and_result() -> list[types.Content]:
    call = types.FunctionCall(id="c1", name="restart", args={"host": "web-03"})
    result = types.FunctionResponse(id="c1", name="restart", response={"state": "up"})
    return [
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]


async def test_calls_and_results_are_told_in_words_where_tools_are() -> None:
    with fake_openai() as endpoint:
        endpoint.script(0, says('{"final_answer": "It is up."}'))
        await ask(llm(endpoint, tools="written"), asked(GeneratorOutput, *call_and_result()))
        body = endpoint.requests[0].body
    assert "tools" not in body
    system, question, call, result = body["messages"]
    assert system["content"].startswith("You operate servers.")
    assert "- restart: Restart a server." in system["content"]
    assert question["content"] == "Restart web-03 now."
    assert json.loads(call["content"]) == {"tool": "restart", "arguments": {"host": "web-03"}}
    assert (result["role"], result["content"]) == ("user", 'restart returned: {"state": "up"}')
    answer, shape = body["response_format"]["json_schema"]["schema"]["anyOf"]
    assert "final_answer" in answer["properties"]
    assert shape["properties"]["arguments"].get("required") == ["host"]
    assert list(shape["properties"]) == ["lacks", "tool", "arguments"]


async def test_results_are_told_in_words_where_no_tool_is_left() -> None:
    request = asked(None, *call_and_result())
    request.config.tools = None
    with fake_openai() as endpoint:
        endpoint.script(0, says("It is up."))
        await ask(llm(endpoint, tools="written"), request)
        body = endpoint.requests[0].body
    assert {message["role"] for message in body["messages"]} == {"system", "user"}
    assert 'restart returned: {"state": "up"}' in body["messages"][-1]["content"]
    assert '"tool"' not in str(body)


async def test_a_written_call_may_say_what_is_missing() -> None:
    call = {"lacks": "whether it is up", "tool": "restart", "arguments": {"host": "web-03"}}
    with fake_openai() as endpoint:
        endpoint.script(0, says(json.dumps(call)))
        (whole,) = await ask(llm(endpoint, tools="written"), asked(GeneratorOutput))
    assert [each.args for each in whole.get_function_calls()] == [{"host": "web-03"}]


async def test_streamed_call_is_shown_when_it_is_whole() -> None:
    with fake_openai() as endpoint:
        endpoint.script(0, calls_functions(("restart", {"host": "web-03"})))
        *beats, whole = await ask(llm(endpoint), asked(None), stream=True)
    assert beats
    assert all(beat.partial and beat.content is None for beat in beats)
    assert [call.args for call in whole.get_function_calls()] == [{"host": "web-03"}]
