"""An event as it is stored: its secrets masked."""

from google.adk.events import Event
from google.genai import types

from acc_ace.core.text.redaction import mask_secrets, mask_values


def masked_event(event: Event, *, ran: bool = False) -> Event:
    """A copy with secrets masked in texts, text files, results of tools and changes of state.

    Arguments of calls stay, for a person may yet confirm them, unless all of the turn `ran`.
    """
    actions = event.actions
    copy = event.model_copy(
        update={
            "actions": actions.model_copy(update={"state_delta": mask_values(actions.state_delta)}),
            "output": mask_values(event.output),
        }
    )
    if event.content is not None:
        parts = [_masked_part(part, ran=ran) for part in event.content.parts or []]
        copy.content = event.content.model_copy(update={"parts": parts})
    return copy


def _masked_part(part: types.Part, *, ran: bool) -> types.Part:
    if part.text:
        return part.model_copy(update={"text": mask_secrets(part.text)})
    if ran and (call := part.function_call) is not None:
        masked_call = call.model_copy(update={"args": mask_values(call.args)})
        return part.model_copy(update={"function_call": masked_call})
    if (answer := part.function_response) is not None:
        masked = answer.model_copy(update={"response": mask_values(answer.response)})
        return part.model_copy(update={"function_response": masked})
    file = part.inline_data
    if file is not None and file.data and (file.mime_type or "").startswith("text/"):
        text = file.data.decode("utf-8", "surrogateescape")
        data = mask_secrets(text).encode("utf-8", "surrogateescape")
        return part.model_copy(update={"inline_data": file.model_copy(update={"data": data})})
    return part
