"""Keep credentials out of the log of this process, whoever writes it and at any level.

Servers and clients write whole requests at DEBUG: uvicorn the headers of a WebSocket's opening,
httpcore those of an answer, access logs the query. What a record says is therefore changed when it
is made, before any handler sees it.
"""

import logging
import re
from typing import Final

_HEADER: Final = re.compile(
    r"\b((?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?(?:goog-)?api-key)"
    r"""(['"]?\s*[:,]\s*)(b?'[^'\n]*'|b?"[^"\n]*"|[^\n]+)""",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"""\b(bearer)(\s+)[^\s'",;]+""", re.IGNORECASE)
_QUERY: Final = re.compile(
    r"""([?&](?:access_|auth_|id_)?(?:token|api_?key|key)=)[^&\s'"#]+""", re.IGNORECASE
)
_HIDDEN: Final = "[redacted]"
_FORMATTER: Final = logging.Formatter()


def hide_credentials() -> None:
    """Change what log records of this process say from now on; again, it changes nothing."""
    made = logging.getLogRecordFactory()
    if getattr(made, "hides_credentials", False):
        return

    def record(*values: object, **options: object) -> logging.LogRecord:
        return _without_credentials(made(*values, **options))

    record.hides_credentials = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(record)


def without_credentials(text: str) -> str:
    """The text without bearer tokens, cookies, and keys in headers and URLs."""
    text = _HEADER.sub(rf"\1\2{_HIDDEN}", text)
    text = _BEARER.sub(rf"\1\2{_HIDDEN}", text)
    return _QUERY.sub(rf"\1{_HIDDEN}", text)


def _without_credentials(record: logging.LogRecord) -> logging.LogRecord:
    if isinstance(record.args, tuple):  # Handlers of access logs need them apart.
        record.args = tuple(
            without_credentials(arg) if isinstance(arg, str) else arg for arg in record.args
        )
    message = record.getMessage()
    if (clean := without_credentials(message)) != message:
        record.msg, record.args = clean, ()
    if record.exc_info:
        # What a formatter finds there it takes for the traceback.
        record.exc_text = without_credentials(_FORMATTER.formatException(record.exc_info))
    return record
