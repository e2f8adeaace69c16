"""Text that can be stored and answered: valid Unicode, whatever JSON escapes allow."""

from typing import Annotated

from pydantic import AfterValidator


def is_unicode(text: str) -> bool:
    """Whether the text has no half of a surrogate pair, which UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _valid(text: str) -> str:
    if not is_unicode(text):
        raise ValueError("not valid Unicode: it contains half of a surrogate pair")
    return text


Text = Annotated[str, AfterValidator(_valid)]
