"""Read x_t out of the content that started an invocation."""

import json
from typing import NamedTuple

from google.genai import types

from acc_ace.errors import InputError
from acc_ace.schemas.base import Authority


class ContentText(NamedTuple):
    """The text of a content, and the most authority it can have."""

    text: str
    authority: Authority


def content_text(content: types.Content | None, *, name_attachments: bool = False) -> ContentText:
    """The text parts joined; a function response counts as a tool's words.

    There is no compressed state of a picture yet: binary parts raise InputError, or stand as
    '[image/png attached]' in the text if they are to be named.
    """
    parts = (content.parts if content else None) or []
    texts: list[str] = []
    authority = Authority.USER
    for part in parts:
        if part.text:
            texts.append(part.text)
        elif part.function_response is not None:
            response = part.function_response.response or {}
            texts.append(json.dumps(response, ensure_ascii=False, default=str))
            authority = Authority.TOOL
        elif attached := attachment(part):
            if name_attachments:
                texts.append(attached)
                continue
            raise InputError(
                "the input has a binary part (picture, audio or file); send text only, "
                "or store the file's text as a document and ask about it"
            )
    return ContentText("\n".join(texts), authority)


def attachment(part: types.Part) -> str | None:
    """How a picture, a recording or a file stands in a text; None for another part."""
    data = part.inline_data or part.file_data
    return f"[{data.mime_type or 'file'} attached]" if data else None
