"""Prompts: a static Markdown instruction, and inputs as tagged data in the user content.

An artifact is quoted data that cannot break out of its block.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.text.normalize import neutralise, short_ids
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import PromptError

NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")
"""Valid names of inputs."""

_INPUT_TAG = lazy_pattern(r"<(?=\s*/?\s*input)", re.IGNORECASE)
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Lines(str):
    """Text that a block shows line by line instead of as JSON: it takes a third of the tokens."""


def write_input(name: str, value: object) -> str:
    """One input as a tagged block: `Lines` as they are, anything else as JSON on one line.

    Raises ValueError for a name that is not lower snake case, and TypeError for a value that is
    not JSON. No value can close the block; lone surrogates are escaped or replaced, so the block
    can always be encoded.
    """
    if NAME.fullmatch(name) is None:
        raise ValueError(f"input name {name!r} must be lower snake case, at most 64 characters")
    if isinstance(value, Lines):
        body = _SURROGATE.sub("\ufffd", _INPUT_TAG.sub("‹", value))
        return f'<input name="{name}">\n{body}\n</input>'
    return f'<input name="{name}">{escaped_json(value)}</input>'


def write_inputs(inputs: Mapping[str, object]) -> str:
    """Several inputs in order, one block per line."""
    return "\n".join(write_input(name, value) for name, value in inputs.items())


def escaped_json(value: object) -> str:
    """Compact JSON without `<`, `>` and `&`, always encodable as UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Lone surrogates become JSON escapes.
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return safe.translate(_ESCAPES)


_INPUTS_SECTION = lazy_pattern(r"^## Inputs$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_INPUT = lazy_pattern(r"^- `([a-z_]+)`", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """An instruction and the names of its inputs."""

    name: str
    text: str
    inputs: tuple[str, ...]

    @property
    def digest(self) -> str:
        """First 12 hex digits of the SHA-256 of the text; logged with each turn."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def render(self, inputs: Mapping[str, object], *, beside: Collection[str] = ()) -> str:
        """The inputs as tagged blocks, but for those that a request holds `beside` them.

        Raises PromptError unless they are those declared, in that order.
        """
        declared = [name for name in self.inputs if name not in beside]
        if list(inputs) != declared:
            raise PromptError(f"prompt '{self.name}' needs inputs {declared}, got {list(inputs)}")
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


_LABEL_TOKENS = 24
"""Maximum tokens of each label in the opening line."""

_UNPRINTABLE = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_MARGIN = "| "


def quote_artifact(artifact: Artifact, *, max_tokens: int) -> str:
    """The artifact as a block: an opening line, its content behind a margin, a closing line.

    Every line of content starts with '| ' and the block's own lines never do, so content can
    neither close the block nor open another. The opening line has id, source, authority and
    date. `max_tokens` bounds the content with its margin; the frame adds at most 80 tokens.
    """
    date = f"{artifact.created_at:%Y-%m-%d}"
    opening = (
        f"<artifact id={_label(short_ids(artifact.artifact_id))} source={_label(artifact.source)} "
        f"authority={_label(artifact.authority.value)} date={_label(date)}>"
    )
    content = clip_tokens(_behind_margin(artifact, max_tokens), max_tokens)
    return "\n".join([opening, content, "</artifact>"])


def _label(text: str) -> str:
    """A value of the opening line, quoted, without quote marks or brackets inside."""
    plain = clip_tokens(neutralise(text), _LABEL_TOKENS)
    return '"' + plain.replace('"', "'").replace(">", "›").replace("<", "‹") + '"'


def _behind_margin(artifact: Artifact, max_tokens: int) -> str:
    # More characters would not fit, unless most of them are blank.
    text = artifact.content[: 16 * max_tokens + 4_096].replace("\r\n", "\n")
    text = _SURROGATE.sub("\ufffd", text.replace("\r", "\n"))
    lines = (_UNPRINTABLE.sub(" ", line).rstrip() for line in text.strip("\n").split("\n"))
    return "\n".join(f"{_MARGIN}{_escape(line)}" for line in lines)


def _escape(line: str) -> str:
    """A line that cannot contain our own tag."""
    return re.sub(r"[<＜](?=\s*[/／]?\s*artifact)", "‹", line, flags=re.IGNORECASE)


class Quotation(NamedTuple):
    """What somebody said or something holds, verbatim, as a reference of the state carries it."""

    who: str
    day: str
    text: str

    def __str__(self) -> str:
        return f'{self.who}, {self.day}: "{self.text}"'

    @classmethod
    def read(cls, line: str) -> "Quotation | None":
        """The quotation that a line is, perhaps cut at its end; None for anything else."""
        match = _QUOTATION.fullmatch(line)
        return cls(**match.groupdict()) if match else None


_QUOTATION = lazy_pattern(r'(?P<who>.{1,200}?), (?P<day>\d{4}-\d\d-\d\d): "(?P<text>.*?)"?')
