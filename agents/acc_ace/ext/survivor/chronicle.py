"""The story of a run: what each life learned, how long it was, what ended it, what it did first.

Pure functions over snapshots, and over the lives that they add up to.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.survivor.survival import Episode, LoopSnapshot

MOST_LIVES: Final = 40
"""Lives that a story tells, the newest ones."""

_LESSONS, _LESSON_TOKENS = 3, 16
_NEW: Final = frozenset({"ADD", "UPDATE", "MERGE"})
"""Changes of the playbook by which something is learned; a vote for a lesson is none."""

_BARS: Final = "▁▂▃▄▅▆▇█"
_FEATS: Final[Mapping[str, Callable[[Episode, LoopSnapshot], bool]]] = {
    "food": lambda _, tick: any(step.food > 0 for step in tick.steps),
    "water": lambda _, tick: any(step.water > 0 for step in tick.steps),
    "danger evaded": lambda _, tick: any(step.status == "evaded" for step in tick.steps),
    "night survived": lambda life, tick: life.is_night and not (tick.is_night or tick.died_of),
}
"""What counts as a milestone when a life is the first to do it."""


def lived(life: Episode, tick: LoopSnapshot, line: int = 0) -> Episode:
    """A life after one more of its ticks, which stands in that line of the run's file."""
    feats = (name for name, is_done in _FEATS.items() if is_done(life, tick))
    new = (each for each in tick.playbook if each.outcome == "applied" and each.type in _NEW)
    lessons = filter(None, (_lesson(change.content) for change in new))
    return Episode(
        episode=tick.episode,
        line=life.line or line,
        ticks=life.ticks + 1,
        steps=tick.step,
        score=tick.scoreboard.score,
        cells=tick.cells_seen,
        kinds=tick.kinds_known,
        bits=life.bits + tick.curiosity,
        usd=tick.usd,
        died_of=tick.died_of,
        is_night=tick.is_night,
        feats=tuple(dict.fromkeys((*life.feats, *feats))),
        learned=tuple(dict.fromkeys((*life.learned, *lessons))),
    )


def story(lives: Sequence[Episode]) -> list[str]:
    """The learning curve, then a line for each of the newest lives."""
    lines = list(map(_life, lives, milestones(lives)))
    return [learning_curve(lives), *lines[-MOST_LIVES:]]


def learning_curve(lives: Sequence[Episode]) -> str:
    """Ticks of the newest lives, as a bar each and as numbers."""
    ticks = [life.ticks for life in lives[-MOST_LIVES:]]
    most = max(*ticks, 1)
    bars = "".join(_BARS[(len(_BARS) - 1) * each // most] for each in ticks)
    return f"{bars}  ticks lived: {', '.join(f'{each:,}' for each in ticks)}"


def milestones(lives: Sequence[Episode]) -> Iterator[tuple[str, ...]]:
    """For each life what it was the first to do, and whether it was the longest so far.

    What was first is not known where the run's first life is not among these.
    """
    is_whole, done, longest = lives[0].episode == 1, set[str](), 0
    for life in lives:
        firsts = [f"first {feat}" for feat in life.feats if is_whole and feat not in done]
        longer = ["longest life so far"] if 0 < longest < life.ticks else []
        yield (*firsts, *longer)
        done.update(life.feats)
        longest = max(longest, life.ticks)


def told_lessons(
    life: Episode, quote: str = '"{}"', more: str = "{} more", comma: str = ", "
) -> str:
    """What a life learned, in the words of its lessons, the first ones; '' for nothing."""
    lessons = [quote.format(lesson) for lesson in life.learned[:_LESSONS]]
    left = len(life.learned) - _LESSONS
    return comma.join([*lessons, more.format(left)] if left > 0 else lessons)


def _life(life: Episode, milestones: Sequence[str]) -> str:
    """Such as 'Life 3: learned "Avoid cones", lived 214 ticks, died of thirst (first food)'."""
    end = f"died of {life.died_of}" if life.died_of else "still alive"
    ticks = f"{life.ticks:,} tick{'' if life.ticks == 1 else 's'}"
    marks = f" ({', '.join(milestones)})" if milestones else ""
    learned = told_lessons(life) or "nothing new"
    return f"Life {life.episode}: learned {learned}, lived {ticks}, {end}{marks}"


def _lesson(content: str) -> str:
    return clip_tokens(one_line(content), _LESSON_TOKENS).rstrip(".")
