"""Messages as the contents and the instruction of a request of ADK."""

from collections.abc import Sequence

from google.genai import types

from acc_ace.core.schemas.message import Message, MessageRole
from acc_ace.core.text.prompt import write_input


def contents_of(messages: Sequence[Message]) -> list[types.Content]:
    """Messages of users, assistant and tools as contents; system messages are left out."""
    return [_content(message) for message in messages if message.role is not MessageRole.SYSTEM]


def instruction_of(messages: Sequence[Message]) -> str:
    """The system messages as one instruction."""
    return "\n".join(m.content or "" for m in messages if m.role is MessageRole.SYSTEM)


def _content(message: Message) -> types.Content:
    match message.role:
        case MessageRole.ASSISTANT:
            return types.Content(role="model", parts=[*_text(message), *_calls(message)])
        case MessageRole.TOOL:
            return types.Content(role="user", parts=_results(message))
        case _:
            return types.Content(role="user", parts=_text(message))


def _text(message: Message) -> list[types.Part]:
    if not message.content:
        return []
    if message.role is MessageRole.USER and not message.authority.may_rule:
        fields = {"text": message.content, "authority": message.authority}
        return [types.Part(text=write_input("earlier_input", fields))]
    return [types.Part(text=message.content)]


def _calls(message: Message) -> list[types.Part]:
    return [
        types.Part(function_call=types.FunctionCall(id=call.id, name=call.name, args=call.args))
        for call in message.tool_calls
    ]


def _results(message: Message) -> list[types.Part]:
    return [
        types.Part(
            function_response=types.FunctionResponse(
                id=result.tool_call_id,
                name=result.name,
                response={"error" if result.is_error else "result": result.result},
            )
        )
        for result in message.tool_results
    ]
