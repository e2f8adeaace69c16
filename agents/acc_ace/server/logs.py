"""The log of a server process, in words or as lines of JSON."""

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

from acc_ace.config import Settings

_REQUEST: Final = ("client", "method", "path", "http_version", "status")
"""What a record of uvicorn's access log has, in its order."""


class JsonLines(logging.Formatter):
    """One JSON object a line: `time` (UTC), `level`, `logger`, `message`, and `error`.

    Those of the access log have a request's parts besides.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.name == "uvicorn.access" and isinstance(record.args, tuple):
            line |= dict(zip(_REQUEST, record.args, strict=False))
        if record.exc_info:
            # What is set is set without credentials.
            line["error"] = record.exc_text or self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_config(settings: Settings) -> dict[str, Any]:
    """The configuration of `logging.config.dictConfig` for uvicorn's loggers and all others."""
    formats: dict[str, dict[str, object]] = {
        "text": {"()": "uvicorn.logging.DefaultFormatter", "fmt": "%(levelprefix)s %(message)s"},
        "json": {"()": JsonLines},
    }
    level = settings.log_level
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formats[settings.log_format]},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        # A request is news where it is asked for, whatever else is.
        "loggers": {"uvicorn": {"level": level}, "uvicorn.access": {"level": "INFO"}},
    }
