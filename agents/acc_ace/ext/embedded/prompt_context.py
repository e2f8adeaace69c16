"""The Generator's view of a turn, and the results of its parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.interaction import Attachment
from acc_ace.core.text.normalize import language_of
from acc_ace.ext.embedded.phrases import Language, say
from acc_ace.ext.embedded.prompt_parts import PromptParts, ToolReply, read_inputs
from acc_ace.ext.embedded.views import (
    BulletView,
    StateView,
    attachments_of,
    bullets_of,
    state_of,
    texts_of,
    turn_input_of,
)


@dataclass(frozen=True)
class PromptContext:
    """x_t with the state, playbook, tools and tool replies of the request."""

    text: str
    language: Language
    state: StateView
    authority: Authority = Authority.USER
    attachments: tuple[Attachment, ...] = ()
    bullets: tuple[BulletView, ...] = ()
    warnings: tuple[str, ...] = ()
    replies: tuple[ToolReply, ...] = ()
    searches: tuple[tuple[str, str], ...] = ()

    def say(self, name: str, **values: object) -> str:
        """One of the engine's sentences in the language of x_t."""
        return say(name, self.language, **values)


@dataclass(frozen=True)
class RuleAnswer:
    """An answer: its lines, the reason, and the bullets it rests on."""

    lines: tuple[str, ...]
    why: str
    bullet_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A tool call that must precede the answer."""

    name: str
    args: Mapping[str, object]


def prompt_context(prompt: PromptParts) -> PromptContext:
    """Read the Generator's request; an x_t that is not the user's is a quoted input.

    So is an x_t that is not the last content, because other agents have spoken since.
    """
    given = read_inputs(prompt.text).get("current_input") or prompt.inputs.get("current_input")
    turn_input = turn_input_of(prompt.text if given is None else given)
    return PromptContext(
        text=turn_input.text,
        authority=turn_input.authority,
        attachments=(*turn_input.attachments, *attachments_of(prompt.attachments)),
        language=language_of(turn_input.text),
        state=state_of(prompt.inputs.get("state")),
        bullets=tuple(bullets_of(prompt.inputs.get("playbook"))),
        warnings=tuple(texts_of(prompt.inputs.get("warnings"))),
        replies=prompt.replies,
        searches=prompt.searches,
    )
