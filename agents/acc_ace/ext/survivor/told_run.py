"""What the survivor tells of its run, in the first person, in English or Japanese.

The sentences stand in `told_run.toml`. What was written in a run, such as aims and lessons, is
quoted as it stands.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.survivor.analysis import ALIVE
from acc_ace.ext.survivor.chronicle import told_lessons
from acc_ace.ext.survivor.survival import LoopSnapshot, RunAnalysis, StepRecord
from acc_ace.ext.survivor.world_rules import CREATURES, KINDS

Language = Literal["ja", "en"]

_MOST: Final = 5
_TOKENS: Final = 160
"""Tokens of a tick as it is told."""

_FILE: Final = Path(__file__).with_suffix(".toml")


@cache
def _table(name: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))[name]
    return table


def say(name: str, language: Language, **values: object) -> str:
    """One of the sentences."""
    return str(_table(language)[name]).format(**values)


def topic_of(question: str) -> str:
    """What a normalised question asks about: death, fear or lessons; '' for anything else."""
    topics = _table("topics").items()
    return next((topic for topic, signs in topics if re.search(signs, question)), "")


def in_english(question: str) -> str:
    """A question with the English of the Japanese words in it: ticks are written in English."""
    return " ".join([question, *(word for word, own in _table("words").items() if own in question)])


def answers(
    topic: str, run: RunAnalysis, now: LoopSnapshot, episode: int, language: Language
) -> Iterator[str]:
    """What a run says about a topic, of one life or, with 0, of all; `now` is its newest tick."""
    lives = [life for life in reversed(run.newest) if episode in {0, life.episode}]
    if topic == "fear":
        causes = _counts(run.harms, language)
        yield say("afraid" if causes else "calm", language, causes=causes)
        yield say("fear", language, fear=now.fear, threshold=now.threshold)
    elif topic == "death":
        dead = [life for life in lives if life.died_of][:1]
        for life in (*dead, *(life for life in lives[:1] if not life.died_of)):
            name, cause = "died" if life.died_of else "alive", _cause(life.died_of, language)
            yield say(name, language, **dict(life), cause=cause)
        deaths = {cause: count for cause, count in run.deaths.items() if cause != ALIVE}
        if deaths and not episode:
            yield say("deaths", language, causes=_counts(deaths, language))
    else:
        for life in [life for life in lives if life.learned][:_MOST] or lives[:1]:
            name = "learned" if life.learned else "nothing"
            lessons = told_lessons(life, **_table(language)["marks"])
            yield say(name, language, **dict(life), lessons=lessons)


def told_tick(tick: LoopSnapshot, language: Language = "en") -> str:
    """What was done in a tick, why, and what came of it; the reflection is the next sentence."""
    rest = [trouble for step in tick.steps for trouble in _trouble(step, language)]
    if tick.died_of:
        rest.append(say("death", language, cause=_words(tick.died_of, language)))
    rest.append(say("body", language, **dict(tick.body), fear=tick.fear))
    values = {
        "steps": _steps(tick.steps, language) or "-",
        "aim": " ".join(tick.plan.objective.split()).rstrip(".") or "-",
        "rest": ("、" if language == "ja" else "; ").join(rest),
    }
    text = say("tick", language, **{**dict(tick), **values})
    thought = tick.plan.reflection and say("thought", language, thought=tick.plan.reflection)
    return clip_tokens(text + thought, _TOKENS)


def _steps(steps: Iterable[StepRecord], language: Language) -> str:
    """The steps made, equal ones counted, in words that people ask with."""
    names = (step.done.replace("move ", "go ") for step in steps if step.done)
    counts = ((_words(name, language), len(list(same))) for name, same in groupby(names))
    return _listed((f"{name} ×{n}" if n > 1 else name for name, n in counts), language)


def _trouble(step: StepRecord, language: Language) -> Iterator[str]:
    """What went wrong in a step."""
    wanted, status = _words(step.wanted, language), _words(step.status, language)
    if step.status != "done":
        yield say("trouble", language, wanted=wanted, status=status, why=step.why or step.rule_id)
    if step.life < 0:
        cause = _words(step.cause or "need", language)
        yield say("harm", language, wanted=wanted, lost=-step.life, cause=cause)


def _counts(counts: Mapping[str, int], language: Language) -> str:
    first = sorted(counts.items(), key=lambda item: -item[1])[:_MOST]
    return _listed((f"{_words(name, language)} {count:,}" for name, count in first), language)


def _cause(name: str, language: Language) -> str:
    """A cause within a sentence: 'a cone', 'thirst'."""
    has_article = language == "en" and name in {*KINDS, *CREATURES}
    return "a " * has_article + _words(name, language)


def _words(text: str, language: Language) -> str:
    """A text of the run, word by word."""
    own = _table("words") if language == "ja" else {}
    return " ".join(filter(None, (own.get(word, word) for word in text.split())))


def _listed(items: Iterable[str], language: Language) -> str:
    return str(_table(language)["marks"]["comma"]).join(items)
