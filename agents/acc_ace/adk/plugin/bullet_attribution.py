"""Which lessons of the playbook an agent used that was never asked to name them."""

from collections.abc import Sequence

from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.interaction import ToolCall
from acc_ace.text.similarity import content_words

_USED = 0.5
"""Share of a lesson's content words from which an answer counts as worded after it."""


def used_bullets(shown: Sequence[Bullet], answer: str, calls: Sequence[ToolCall]) -> list[str]:
    """Ids of the bullets that the answer cites, or whose words it and its tool calls share."""
    done = f"{answer}\n" + "\n".join(f"{call.name} {call.args}" for call in calls)
    words = content_words(done)
    return [bullet.id for bullet in shown if bullet.id in done or _shares(bullet, words)]


def _shares(bullet: Bullet, words: frozenset[str]) -> bool:
    lesson = content_words(bullet.content)
    return bool(lesson) and len(lesson & words) >= _USED * len(lesson)
