"""Write the machine-readable inputs of a prompt: one tagged JSON block each.

A block is `<input name="current_input">{...}</input>`. Inside the JSON every `<`, `>` and `&` is
written as a `\\uXXXX` escape, so no text of a user, tool or document can open or close a tag:
what is recalled stays quoted data.
"""

import json
from collections.abc import Mapping

from acc_ace.text.patterns import lazy_pattern

NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")
"""What an input may be called."""

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def write_input(name: str, value: object) -> str:
    """One input as a tagged block of JSON on one line.

    Raises ValueError for a name that is not lower snake case, and TypeError for a value that is
    not JSON. Lone surrogates are escaped, so the block can always be encoded.
    """
    if NAME.fullmatch(name) is None:
        raise ValueError(f"input name {name!r} must be lower snake case, at most 64 characters")
    return f'<input name="{name}">{escaped_json(value)}</input>'


def write_inputs(inputs: Mapping[str, object]) -> str:
    """Several inputs, one block a line, in their order."""
    return "\n".join(write_input(name, value) for name, value in inputs.items())


def escaped_json(value: object) -> str:
    """Compact JSON that holds no `<`, `>` or `&`, and only what UTF-8 can encode."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Lone surrogates become the escapes that JSON has for them.
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return safe.translate(_ESCAPES)
