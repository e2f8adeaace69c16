"""Prompts: a static Markdown instruction, and inputs as tagged data in the user content.

Rendering a committed state is deterministic; an artifact is quoted data that cannot break out of
its block.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from acc_ace.errors import PromptError
from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import CommittedState
from acc_ace.text.normalize import neutralise, one_line
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.tokens import clip_tokens, estimate_tokens

NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")
"""Valid names of inputs."""

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

    def render(self, inputs: Mapping[str, object]) -> str:
        """The inputs as tagged blocks; raises PromptError unless they match the declaration."""
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


_LABEL_TOKENS = 24
"""Maximum tokens of each label in the opening line."""

_UNPRINTABLE = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_MARGIN = "| "


def quote_artifact(artifact: Artifact, *, max_tokens: int) -> str:
    """The artifact as a block: an opening line, its content behind a margin, a closing line.

    Every line of content starts with '| ' and the block's own lines never do, so content can
    neither close the block nor open another. The opening line has id, source, authority and
    date. `max_tokens` bounds the content with its margin; the frame adds at most 80 tokens.
    """
    date = f"{artifact.created_at:%Y-%m-%d}"
    opening = (
        f"<artifact id={_label(artifact.artifact_id)} source={_label(artifact.source)} "
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


NO_ID = "c-0000"
"""Placeholder id of a constraint where only its length matters."""

_FREE_SECTIONS: tuple[tuple[str, str], ...] = (
    ("Entities", "focal_entities"),
    ("Relations", "relational_map"),
    ("Situation", "semantic_gist"),
    ("Artifacts", "retrieved_artifacts"),
    ("Uncertain", "uncertainty_signal"),
    ("Next", "predictive_cue"),
    ("This turn", "episodic_trace"),
)
"""Heading and field of the sections after constraints and goal, most stable first."""


def render_ccs(state: CommittedState) -> str:
    """The state as labelled sections; constraints have ids, empty sections are omitted."""
    rules = [(pin.id, pin.text) for pin in state.pins]
    return _render(rules, state.ccs)


def ccs_tokens(ccs: CompressedCognitiveState) -> int:
    """Tokens of the nine fields as `render_ccs` writes them, with four-digit constraint ids."""
    return estimate_tokens(_render([(NO_ID, text) for text in ccs.constraints], ccs))


def _render(rules: Iterable[tuple[str, str]], ccs: CompressedCognitiveState) -> str:
    constraints = [f"[{pin_id}] {one_line(text)}" for pin_id, text in rules]
    sections = [_section("Constraints", constraints or ["none"])]
    sections.append(_section("Goal", [one_line(ccs.goal_orientation) or "none"]))
    for heading, field in _FREE_SECTIONS:
        lines = [line for line in map(neutralise, _values(ccs, field)) if line]
        if lines:
            sections.append(_section(heading, lines))
    return "\n".join(sections)


def _section(heading: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {heading}", *(f"- {line}" for line in lines)])


def _values(ccs: CompressedCognitiveState, field: str) -> list[str]:
    value: str | list[str] | None = getattr(ccs, field)
    if isinstance(value, list):
        return value
    return [value] if value else []
