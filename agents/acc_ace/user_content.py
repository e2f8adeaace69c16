"""Read x_t out of the content that started an invocation."""

import json
from typing import NamedTuple

from google.genai import types

from core.errors import InputError
from schemas.authority import Authority


class ContentText(NamedTuple):
    """The text of a content, and the most authority it can have."""

    text: str
    authority: Authority


def content_text(content: types.Content | None) -> ContentText:
    """The text parts joined; a function response counts as a tool's words.

    Raises InputError for binary parts: there is no compressed state of a picture yet.
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
        elif part.inline_data is not None or part.file_data is not None:
            raise InputError(
                "the input has a binary part (picture, audio or file); send text only, "
                "or store the file's text as a document and ask about it"
            )
    return ContentText("\n".join(texts), authority)
