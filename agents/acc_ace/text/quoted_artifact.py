"""Show an artifact to a model as quoted data that cannot break out of its block."""

import re

from acc_ace.schemas.artifact import Artifact
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.plain_text import neutralise
from acc_ace.text.tokens import clip_tokens

_LABEL_TOKENS = 24
"""Bound of the id and of the source in the opening line."""

_UNPRINTABLE = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_MARGIN = "| "


def quote_artifact(artifact: Artifact, *, max_tokens: int) -> str:
    """The artifact as a block: an opening line, its content behind a margin, a closing line.

    Every line of content begins with '| ' and the block's own lines never do, so content can
    neither close the block nor open another. Id, source, authority and date stand in the opening
    line. `max_tokens` bounds the content with its margin; the frame adds at most 80 tokens.
    """
    date = f"{artifact.created_at:%Y-%m-%d}"
    opening = (
        f"<artifact id={_label(artifact.artifact_id)} source={_label(artifact.source)} "
        f"authority={_label(artifact.authority.value)} date={_label(date)}>"
    )
    content = clip_tokens(_behind_margin(artifact, max_tokens), max_tokens)
    return "\n".join([opening, content, "</artifact>"])


def _label(text: str) -> str:
    """A value of the opening line: quoted, with no quote mark or bracket inside."""
    plain = clip_tokens(neutralise(text), _LABEL_TOKENS)
    return '"' + plain.replace('"', "'").replace(">", "›").replace("<", "‹") + '"'


def _behind_margin(artifact: Artifact, max_tokens: int) -> str:
    # More than this many characters cannot be shown, unless most of them are blank.
    text = artifact.content[: 16 * max_tokens + 4_096].replace("\r\n", "\n")
    text = _SURROGATE.sub("\ufffd", text.replace("\r", "\n"))
    lines = (_UNPRINTABLE.sub(" ", line).rstrip() for line in text.strip("\n").split("\n"))
    return "\n".join(f"{_MARGIN}{_escape(line)}" for line in lines)


def _escape(line: str) -> str:
    """A line in which our own tag cannot be spelled."""
    return re.sub(r"[<＜](?=\s*[/／]?\s*artifact)", "‹", line, flags=re.IGNORECASE)
