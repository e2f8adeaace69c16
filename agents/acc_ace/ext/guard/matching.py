"""Whether a call is about what a rule says: its acts, and the things that it names."""

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

from acc_ace.core.text.lexicon_en import root_of
from acc_ace.ext.guard.calls import Speech, Text, Tool, words_in
from acc_ace.ext.guard.reading import RuleReading
from acc_ace.ext.guard.words import (
    ENVIRONMENTS,
    WEAK,
    Thing,
    act_classes,
    acts_in,
    is_name,
    names,
    speaks_of,
)


class Fit(IntEnum):
    """Whether a call is about what a rule says, from the least to the surest."""

    NO = 0
    UNKNOWN = 1
    OPEN = 2
    YES = 3


def act_fit(reading: RuleReading, tool: Tool, speech: Speech) -> Fit:
    """Whether the call does what the rule forbids."""
    wanted = frozenset(c for verb in reading.verbs for c in act_classes(verb))
    first = next(iter(words_in(tool.name)), "").lower()
    looks = speech.reads or bool(act_classes(first) & _READ)
    if looks and not wanted & (_READ | _LOGIN):
        return Fit.NO
    if not reading.verbs:
        return Fit.YES
    own = _joined(tool.words, speech.keys, speech.strict)
    if any(speaks_of(verb, own) for verb in reading.verbs) or (
        wanted & _DISABLE and speech.off.text
    ):
        return Fit.YES
    if any(speaks_of(verb, speech.commands) for verb in reading.verbs):
        return Fit.OPEN
    own_acts = acts_in(tool.words)
    specific = own_acts and wanted and not speech.commands.text and not own_acts & _CHANGE
    return Fit.NO if specific else Fit.UNKNOWN


_READ: Final = act_classes("read")
_DISABLE: Final = act_classes("disable")
_CHANGE: Final = act_classes("change")
_LOGIN: Final = act_classes("login")


def thing_fit(reading: RuleReading, tool: Tool, speech: Speech) -> Fit:
    """Whether the call is about the things of a rule; with a name and another id, perhaps.

    A name of one word, and each of a list of alternatives, is a thing by itself.
    """
    if not reading.things:
        return Fit.YES
    fits = {thing: fit_of(thing, tool, speech) for thing in reading.things}
    named = [fit for thing, fit in fits.items() if thing.named]
    if reading.every and not any(str(leaf.value).lower() in _ALL for leaf in speech.leaves):
        return Fit.NO
    if named:
        alone = [fit for thing, fit in fits.items() if thing.named and len(thing.words) <= 1]
        ids = [fit for thing, fit in fits.items() if thing.names] or named
        is_one = reading.either or Fit.YES in alone or max(ids)
        return max(named) if is_one else min(max(named), Fit.OPEN)
    places = [fit for thing, fit in fits.items() if thing.place]
    kinds = [fit for thing, fit in fits.items() if not thing.place] or places
    if (any if reading.either else all)(fit is Fit.YES for fit in fits.values()):
        return Fit.YES
    if reading.open_clause and any(fit is not Fit.NO for fit in fits.values()):
        return Fit.OPEN
    told = any(_told(thing, speech) for thing in reading.things if not thing.place)
    lacks_place = bool(places) and all(fit is Fit.NO for fit in places) and not told
    return Fit.OPEN if any(fit is not Fit.NO for fit in kinds) and not lacks_place else Fit.NO


_ALL: Final = frozenset(["*", "/*", "/", "/**", "**", "all", "everything", "true", "全部", "全て"])


def _told(thing: Thing, speech: Speech) -> bool:
    """Whether the values or texts of a call speak of a thing."""
    text = _joined(speech.keys, speech.values, speech.commands, speech.prose)
    return any(speaks_of(word, text) for word in thing.words[-1:])


def shows(thing: Thing, speech: Speech) -> bool:
    """Whether a call shows a thing in what it gives."""
    text = _joined(speech.keys, speech.values)
    has_words = all(speaks_of(word, text) for word in thing.words)
    return has_words and all(names(each, text) for each in thing.names)


def lacks_object(reading: RuleReading, speech: Speech) -> bool:
    """Whether a command ends with the act of a rule: what it is done to is not in the call."""
    for part in re.split(r"[;|&]", speech.commands.text):
        words = [word for word in part.split() if not word.startswith("-")]
        is_last = any(speaks_of(verb, Text(words[-1])) for verb in reading.verbs if words)
        if is_last and not any(map(is_name, words)):
            return True
    return False


def fit_of(thing: Thing, tool: Tool, speech: Speech) -> Fit:
    """Whether a call names a thing: in its values, else in a command or in prose."""
    one = len(thing.words) == 1
    values = speech.strict if one else speech.values
    commands = speech.strict_commands if one else speech.commands
    if thing.names:
        values, commands = speech.values, speech.commands
    free = (commands,) if thing.place else (commands, speech.prose)
    if thing.names or thing.proper:
        own = values if thing.names else _joined(values, tool.words, speech.keys)
        fit = fit_in(thing, own)
        if fit is not Fit.NO:
            return fit
        return Fit.OPEN if any(fit_in(thing, text) is not Fit.NO for text in free) else Fit.NO
    own = _joined(tool.words, speech.keys, speech.off, values)
    if all(speaks_of(word, own) for word in thing.words):
        return Fit.YES
    wide = _joined(own, *free)
    hits = [speaks_of(word, wide) for word in thing.words]
    if any(not hit and word in ENVIRONMENTS for word, hit in zip(thing.words, hits, strict=True)):
        return Fit.NO
    # "Admin rights" are about admin, not about any right.
    head = hits[-2] if len(hits) > 1 and root_of(thing.words[-1]) in WEAK else hits[-1]
    return Fit.OPEN if head or (any(hits) and speech.commands.text) else Fit.NO


@lru_cache(maxsize=512)
def _text(text: str) -> Text:
    return Text(text)


def _joined(*texts: Text) -> Text:
    return _text(" ; ".join(text.text for text in texts))


def fit_in(thing: Thing, text: Text) -> Fit:
    """Whether a text names a thing."""
    if thing.names:
        return Fit.YES if any(names(each, text) for each in thing.names) else Fit.NO
    if len(thing.words) > 1 and "".join(thing.words) in text.joined:
        return Fit.YES
    hits = [
        word in text.text if not word.isascii() else root_of(word) in text.stems
        for word in thing.words
    ]
    return Fit.YES if all(hits) else Fit.OPEN if any(hits) and thing.proper else Fit.NO


def stems_of(reading: RuleReading) -> frozenset[str]:
    """The stems of a rule's words."""
    words = [word for thing in reading.things for word in thing.words]
    return frozenset(root_of(w) if w.isascii() else w for w in (*words, *reading.verbs))


def is_among(thing: Thing, tool: Tool, speech: Speech) -> bool:
    """Whether a call has one of the words for what is allowed."""
    text = _joined(tool.words, speech.keys, speech.values)
    return any(speaks_of(word, text) for word in thing.words) or any(
        names(n, text) for n in thing.names
    )


def has_word(reading: RuleReading, tool: Tool, speech: Speech) -> bool:
    """Whether a rule has a word of the tool or of an argument."""
    text = _joined(tool.words, speech.keys, speech.values, speech.commands, speech.prose)
    words = (*reading.verbs, *(word for thing in reading.things for word in thing.words))
    ids = (each for thing in reading.things for each in thing.names)
    return any(speaks_of(w, text) for w in words) or any(names(each, text) for each in ids)
