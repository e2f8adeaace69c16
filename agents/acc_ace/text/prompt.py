"""Prompts: a static Markdown instruction, and inputs as tagged data in the user content.

The instruction never changes from turn to turn, so that providers can cache it; whatever came
from users, tools or documents stands in the inputs, where it cannot be taken for instructions.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acc_ace.errors import PromptError
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.prompt_inputs import write_inputs

_INPUTS_SECTION = lazy_pattern(r"^## Inputs$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_INPUT = lazy_pattern(r"^- `([a-z_]+)`", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """An instruction and the names of the inputs it is given."""

    name: str
    text: str
    inputs: tuple[str, ...]

    @property
    def digest(self) -> str:
        """First 12 hex digits of the SHA-256 of the text; logged with each turn."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def render(self, inputs: Mapping[str, object]) -> str:
        """The inputs as tagged blocks; raises PromptError unless they are those declared."""
        if tuple(inputs) != self.inputs:
            raise PromptError(
                f"prompt '{self.name}' declares inputs {list(self.inputs)}, got {list(inputs)}"
            )
        return write_inputs(inputs)


def load_prompt(path: Path) -> Prompt:
    """Read a prompt; its inputs are the names listed under '## Inputs'.

    Raises PromptError when the file cannot be read or lists no inputs.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"prompt '{path.name}' cannot be read: {error}") from error
    section = _INPUTS_SECTION.search(text)
    names = tuple(_INPUT.findall(section.group(1))) if section else ()
    if not names:
        raise PromptError(f"prompt '{path.name}' lists no inputs under '## Inputs'")
    return Prompt(name=path.stem, text=text, inputs=names)
