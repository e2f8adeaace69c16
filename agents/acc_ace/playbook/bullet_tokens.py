"""Tokens of bullets as a prompt shows them."""

from collections.abc import Iterable
from functools import lru_cache

from acc_ace.schemas.bullet import Bullet
from acc_ace.text.tokens import estimate_tokens

_NEW_HEAD = estimate_tokens("[b-00001] helpful=0 harmful=0 ::")
_FRAME = estimate_tokens("[] helpful= harmful= ::")


def new_line_tokens(content: str) -> int:
    """Tokens of the line that a bullet of this text will have."""
    return _NEW_HEAD + _text_tokens(content)


def line_tokens(bullet: Bullet) -> int:
    """Tokens of the bullet's line in a prompt, counters included.

    Tags do not change it: a counter is one token up to 9,999.
    """
    counters = _number_tokens(bullet.helpful) + _number_tokens(bullet.harmful)
    return _FRAME + _text_tokens(bullet.id) + counters + _text_tokens(bullet.content)


def _number_tokens(number: int) -> int:
    """Four digits are a token."""
    return (len(str(number)) + 3) // 4


@lru_cache(maxsize=4_096)
def heading_tokens(section: str) -> int:
    """Tokens of a section's heading."""
    return estimate_tokens(f"## {section}")


def prompt_tokens(bullets: Iterable[Bullet]) -> int:
    """Tokens of `Playbook.as_prompt(bullets)`, headings included."""
    lines, sections = 0, set()
    for bullet in bullets:
        lines += line_tokens(bullet)
        sections.add(bullet.section)
    return lines + sum(map(heading_tokens, sections))


@lru_cache(maxsize=32_768)
def _text_tokens(content: str) -> int:
    return estimate_tokens(content)
