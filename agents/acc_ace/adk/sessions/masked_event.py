"""An event as it is stored: secrets masked, but for arguments of calls, which may yet be run."""

from typing import Any

from google.adk.events import Event
from google.genai import types

from acc_ace.core.text.redaction import mask_secrets


def masked_event(event: Event) -> Event:
    """A copy with secrets masked in texts, text files, results of tools and changes of state."""
    actions = event.actions
    copy = event.model_copy(
        update={
            "actions": actions.model_copy(update={"state_delta": _masked(actions.state_delta)}),
            "output": _masked(event.output),
        }
    )
    if event.content is not None:
        parts = [_masked_part(part) for part in event.content.parts or []]
        copy.content = event.content.model_copy(update={"parts": parts})
    return copy


def _masked_part(part: types.Part) -> types.Part:
    if part.text:
        return part.model_copy(update={"text": mask_secrets(part.text)})
    if (answer := part.function_response) is not None:
        masked = answer.model_copy(update={"response": _masked(answer.response)})
        return part.model_copy(update={"function_response": masked})
    file = part.inline_data
    if file is not None and file.data and (file.mime_type or "").startswith("text/"):
        text = file.data.decode("utf-8", "surrogateescape")
        data = mask_secrets(text).encode("utf-8", "surrogateescape")
        return part.model_copy(update={"inline_data": file.model_copy(update={"data": data})})
    return part


def _masked(value: Any) -> Any:  # noqa: ANN401 - values of ADK and of tools
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, dict):
        return {name: _masked(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return value
