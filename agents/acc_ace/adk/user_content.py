"""Read x_t and stage values from ADK's contents and context."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions
from google.genai import types

from acc_ace.adk.sessions.json_safe import json_form
from acc_ace.core.schemas.base import Authority, SessionKey, Value
from acc_ace.core.schemas.interaction import Attachment, TurnInput
from acc_ace.core.schemas.report import CONFIRMATION
from acc_ace.core.text.prompt import write_input
from acc_ace.core.text.redaction import stands_for
from acc_ace.errors import InputError


class ContentText(NamedTuple):
    """The text of a content, its attachments by others, and its maximum authority."""

    text: str
    authority: Authority
    attachments: tuple[Attachment, ...] = ()


def content_text(content: types.Content | None, *, name_attachments: bool = False) -> ContentText:
    """The first text part; further text parts and text files are attachments.

    A function response has a tool's authority, and roles other than the user have no user
    authority. Pictures cannot be compressed yet: other binary parts raise
    InputError, or become '[image/png attached]' in the text with `name_attachments`.
    """
    parts = (content.parts if content else None) or []
    texts: list[str] = []
    attachments: list[Attachment] = []
    authority = role_authority(content.role if content else None)
    read_attachment = _readable_attachment if name_attachments else text_attachment
    for part in parts:
        if part.text and not texts:
            texts.append(part.text)
        elif (given := read_attachment(part, len(attachments) + 1)) is not None:
            attachments.append(given)
        elif part.function_response is not None:
            response = part.function_response.response or {}
            texts.append(json.dumps(json_form(response), ensure_ascii=False))
            authority = Authority.TOOL
        elif attached := attachment(part):
            if name_attachments:
                texts.append(attached)
                continue
            raise InputError(
                "the input has a binary part (picture, audio or file); send text only, "
                "or store the file's text as a document and ask about it"
            )
    return ContentText("\n".join(texts), authority, tuple(attachments))


_AUTHORITY_OF_ROLE = {
    "user": Authority.USER,
    "model": Authority.AGENT,
    "agent": Authority.AGENT,
    "assistant": Authority.AGENT,
    "tool": Authority.TOOL,
    "function": Authority.TOOL,
}


def role_authority(role: str | None) -> Authority:
    """The maximum authority of a role."""
    return _AUTHORITY_OF_ROLE.get(role or "user", Authority.RETRIEVED)


def text_attachment(part: types.Part, number: int) -> Attachment | None:
    """A further text part, or a text file, as an attachment; None for another part.

    Raises InputError for a text file that is not UTF-8.
    """
    if part.text:
        return Attachment(text=part.text, source=f"part {number}")
    blob = part.inline_data
    if blob is None or not (blob.mime_type or "").startswith("text/"):
        return None
    source = blob.display_name or f"file {number}"
    try:
        return Attachment(text=(blob.data or b"").decode("utf-8"), source=source)
    except UnicodeDecodeError:
        raise InputError(f"attachment '{source}' is not UTF-8 text; save it as UTF-8") from None


def input_content(turn_input: TurnInput) -> types.Content:
    """x_t as a user's content that `content_text` reads back."""
    files = [_file_part(given) for given in turn_input.attachments]
    return types.Content(role="user", parts=[types.Part(text=turn_input.text), *files])


def confirmation_content(answers: Mapping[str, bool]) -> types.Content:
    """A person's answers to calls that wait for one, by the call's id."""
    answer = partial(types.FunctionResponse, name=CONFIRMATION)
    parts = [
        types.Part(function_response=answer(id=call_id, response={"confirmed": confirmed}))
        for call_id, confirmed in answers.items()
    ]
    return types.Content(role="user", parts=parts)


def _file_part(given: Attachment) -> types.Part:
    blob = types.Blob(
        data=given.text.encode("utf-8", "replace"),
        mime_type="text/plain",
        display_name=given.source or None,
    )
    return types.Part(inline_data=blob)


def quote_attachments(
    contents: list[types.Content], turn_input: TurnInput, brief: TurnInput
) -> None:
    """Quote the attachments in a request as data; what is too long of x_t is as in `brief`.

    A request shares its contents with the session's events, so a content is replaced.
    """
    pairs = zip(turn_input.attachments, brief.attachments, strict=True)
    short = {whole.text: cut.text for whole, cut in pairs}
    for at, content in enumerate(contents):
        if content.role not in {None, "user"}:
            continue
        text = content_text(content, name_attachments=True).text
        is_input = stands_for(turn_input.text, text)
        parts = _quoted_parts(content.parts or [], short, has_text_attachments=is_input)
        if is_input and brief.text != turn_input.text:
            first = next(at for at, part in enumerate(content.parts or []) if part.text)
            parts[first] = types.Part(text=brief.text)
        if any(new is not old for new, old in zip(parts, content.parts or [], strict=True)):
            contents[at] = content.model_copy(update={"parts": parts})


def _quoted_parts(
    parts: Sequence[types.Part], short: Mapping[str, str], *, has_text_attachments: bool
) -> list[types.Part]:
    """The parts with text files as quoted data, and further texts too where they are attached."""
    shown: list[types.Part] = []
    has_text, number = False, 0
    for part in parts:
        is_own = bool(part.text) and not (has_text and has_text_attachments)
        has_text = has_text or bool(part.text)
        given = None if is_own else _readable_attachment(part, number + 1)
        number += given is not None
        if given is not None:
            whole = next((text for text in short if stands_for(text, given.text)), given.text)
            given = given.model_copy(update={"text": short.get(whole, whole)})
        shown.append(part if given is None else _quoted(given))
    return shown


def _readable_attachment(part: types.Part, number: int) -> Attachment | None:
    try:
        return text_attachment(part, number)
    except InputError:
        return None  # Not text: it is named like any other file, and shown unchanged.


def _quoted(given: Attachment) -> types.Part:
    return types.Part(text=write_input("attachment", given.model_dump(mode="json")))


def attachment(part: types.Part) -> str | None:
    """The placeholder for a picture, a recording or a file; None for another part."""
    data = part.inline_data or part.file_data
    return f"[{data.mime_type or 'file'} attached]" if data else None


def session_key(ctx: InvocationContext) -> SessionKey:
    """The session that an invocation runs in."""
    return SessionKey(ctx.session.app_name, ctx.session.user_id, ctx.session.id)


def hand_on(ctx: InvocationContext, key: str, value: Value | dict[str, object]) -> None:
    """Hand a value to later stages under a `temp:` key.

    It is written on the invocation's own session: an event would do the same but leave a row in
    the event log for each stage of each turn.
    """
    if not key.startswith("temp:"):
        raise ValueError(f"'{key}' would outlive the turn; only temp: keys are handed on")
    ctx.session.state[key] = value.model_dump(mode="json") if isinstance(value, Value) else value


def state_event(ctx: InvocationContext, author: str, state: dict[str, object]) -> Event:
    """A content-less event that persists state."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=author,
        branch=ctx.branch,
        actions=EventActions(state_delta=state),
    )
