"""The size of a playbook in a prompt, and its budgets."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import lru_cache

from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.tokens import estimate_tokens

_NEW_HEAD = "[b-00001] helpful=0 harmful=0 ::"
_FRAME = "[ ] helpful= harmful= ::"


def new_line_tokens(content: str) -> int:
    """Tokens of the prompt line of a new bullet with this text."""
    return _text_tokens(_NEW_HEAD) + _text_tokens(content)


def line_tokens(bullet: Bullet) -> int:
    """Tokens of the bullet's line in a prompt, counters included.

    Tags rarely change it: a counter is one token up to 999.
    """
    counters = _text_tokens(f"{bullet.helpful} {bullet.harmful}")
    return _text_tokens(_FRAME) + _text_tokens(bullet.id) + counters + _text_tokens(bullet.content)


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


class PlaybookSize:
    """Bullets and tokens of a playbook and of its sections, updated by `add` and `drop`.

    Tokens are those of `Playbook.as_prompt()`: lines with their counters, and headings.
    """

    def __init__(self, bullets: Iterable[Bullet] = ()) -> None:
        self._bullets: Counter[str] = Counter()
        self._lines: defaultdict[str, int] = defaultdict(int)
        self._count = 0
        self._tokens = 0
        for bullet in bullets:
            self.add(bullet)

    def add(self, bullet: Bullet) -> None:
        """Count a bullet."""
        self._weigh(bullet.section, line_tokens(bullet), 1)

    def drop(self, bullet: Bullet) -> None:
        """Subtract a bullet; pass the value that was added."""
        self._weigh(bullet.section, -line_tokens(bullet), -1)

    def exceeded(self, limits: Limits) -> bool:
        """Whether a budget of the whole playbook is exceeded."""
        return self._count > limits.playbook_bullets or self._tokens > limits.playbook_tokens

    def section_exceeded(self, section: str, limits: Limits) -> bool:
        """Whether a budget of a section is exceeded."""
        count, tokens = self._bullets[section], self._section_tokens(section)
        return count > limits.section_bullets or tokens > limits.section_tokens

    def named(self, limits: Limits) -> tuple[str, ...]:
        """The exceeded budgets by name: 'playbook_bullets', 'section_tokens:strategies', …"""
        names = []
        if self._count > limits.playbook_bullets:
            names.append("playbook_bullets")
        if self._tokens > limits.playbook_tokens:
            names.append("playbook_tokens")
        for section in sorted(self._bullets):
            if self._bullets[section] > limits.section_bullets:
                names.append(f"section_bullets:{section}")
            if self._section_tokens(section) > limits.section_tokens:
                names.append(f"section_tokens:{section}")
        return tuple(names)

    def has_room(
        self, section: str, text: str, limits: Limits, *, leaving: Collection[Bullet] = ()
    ) -> bool:
        """Whether a text fits into a section once the `leaving` bullets are removed.

        A change that makes nothing larger is always allowed, even if a limit was lowered.
        """
        after = self._copy()
        for bullet in leaving:
            after.drop(bullet)
        after._weigh(section, new_line_tokens(text), 1)
        return (
            (after._count <= max(limits.playbook_bullets, self._count))
            and after._tokens <= max(limits.playbook_tokens, self._tokens)
            and after._bullets[section] <= max(limits.section_bullets, self._bullets[section])
            and after._section_tokens(section)
            <= max(limits.section_tokens, self._section_tokens(section))
        )

    def _weigh(self, section: str, tokens: int, bullets: int) -> None:
        before = self._section_tokens(section)
        self._count += bullets
        self._bullets[section] += bullets
        self._lines[section] += tokens
        self._tokens += self._section_tokens(section) - before

    def _section_tokens(self, section: str) -> int:
        """A section's lines, and its heading if it has a bullet."""
        return self._lines[section] + heading_tokens(section) if self._bullets[section] else 0

    def _copy(self) -> "PlaybookSize":
        copy = PlaybookSize()
        copy._bullets, copy._lines = self._bullets.copy(), self._lines.copy()
        copy._count, copy._tokens = self._count, self._tokens
        return copy


def content_stats(playbook: Playbook) -> dict[str, int]:
    """Characters and prompt tokens, and the bullets of each section as 'in <section>'."""
    sections = Counter(bullet.section for bullet in playbook.bullets)
    return {
        "characters": sum(len(bullet.content) for bullet in playbook.bullets),
        "tokens": prompt_tokens(playbook.bullets),
        **{f"in {section}": count for section, count in sections.items()},
    }


def exceeded_budgets(bullets: Iterable[Bullet], limits: Limits) -> tuple[str, ...]:
    """The budgets that the bullets exceed, by name."""
    return PlaybookSize(bullets).named(limits)
