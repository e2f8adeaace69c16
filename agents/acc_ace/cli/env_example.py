"""Generates `.env.example` from the settings: every setting with its default.

`make env-example` writes it; a test fails when the file and the settings differ.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from acc_ace.config import ROLES, Settings

_WIDTH = 96
_HEADER = """\
# Every setting of ACC×ACE with its default. Copy to .env and uncomment what you change.
# `make env-example` writes this file from agents/acc_ace/config.py.

# Google's own variables keep their names. With a key the agents use Gemini, without one the
# embedded model (extractive, not an LLM).
# GOOGLE_API_KEY=
# GOOGLE_GENAI_USE_VERTEXAI=
# GOOGLE_CLOUD_PROJECT=
# GOOGLE_CLOUD_LOCATION=
"""


def env_example() -> str:
    """The whole file."""
    defaults = Settings.model_construct()
    fields = Settings.model_fields
    blocks = {name for name in fields if isinstance(getattr(defaults, name), BaseModel)}
    general = [_setting(name, fields[name]) for name in fields if name not in blocks]
    parts = [_HEADER, "\n".join(["# --- General ---", *general])]
    for name in fields:
        if name in blocks:
            parts.append(_block(name, getattr(defaults, name)))
    return "\n".join(parts)


def _block(name: str, values: BaseModel) -> str:
    """The settings of one nested block, with their defaults."""
    title = f"Agent: {name}" if name in ROLES else name.capitalize()
    lines = [f"# --- {title} ---"]
    for field, info in type(values).model_fields.items():
        lines.append(_setting(f"{name}__{field}", info, getattr(values, field)))
    return "\n".join(lines)


def _setting(name: str, info: FieldInfo, value: object = ...) -> str:
    shown = info.get_default(call_default_factory=True) if value is ... else value
    comments = "\n".join(f"# {line}" for line in _wrapped(info.description or ""))
    return f"{comments}\n# ACC_ACE_{name.upper()}={_text(name, shown)}\n"


def _text(name: str, value: object) -> str:
    """A default value as text; empty for none."""
    if name == "agent_dir":
        return "agents"  # The default is absolute: it depends on where the code is.
    match value:
        case None | tuple() | list() | dict() if not value:
            return ""
        case bool():
            return str(value).lower()
        case Path():
            return value.as_posix()
    return str(value)


def _wrapped(text: str) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + len(word) >= _WIDTH:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


if __name__ == "__main__":
    print(env_example(), end="")
