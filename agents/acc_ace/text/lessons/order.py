"""Tell what comes first where a text says so: 'A before B', 'first A, then B', 「Bの前にA」."""

import re

from acc_ace.text.lessons.lesson_words import Reading
from acc_ace.text.patterns import lazy_pattern

_EN = lazy_pattern(r"\b(?P<marker>before|after|until|then)\b", re.IGNORECASE)
_JA_LATER = lazy_pattern(r"(?P<marked>[^は、。]*?)(?:る前に|の前に|前に|までに|る前には)")
_JA_EARLIER = lazy_pattern(
    r"(?P<marked>[^は、。]*?)(?:の後に|後に|の後で|てから|でから|(?:した|だ)?(?:うえ|上)で|たら)"
)


def ranks(text: str, reading: Reading) -> tuple[tuple[str, int], ...]:
    """Terms with the step they belong to, 0 first; empty where the text gives no order.

    A 'not … until' or 'not … before' is an order and no denial, so it leaves the denials.
    """
    match = _EN.search(text)
    if match is not None:
        return _english(text, match, reading)
    for pattern, marked_rank in ((_JA_LATER, 1), (_JA_EARLIER, 0)):
        found = pattern.search(text)
        if found is not None and found["marked"]:
            return _split(reading, found.start("marked"), found.end("marked"), marked_rank)
    return ()


def _english(text: str, match: re.Match[str], reading: Reading) -> tuple[tuple[str, int], ...]:
    marker, at = match["marker"].lower(), match.start()
    if marker == "then":
        return _listed(text, reading)
    start, end = _clause(at, reading)
    opens = not any(start <= word.at < at for word in reading.words)
    close = next((pause for pause in reading.pauses if pause > at), end) if opens else end
    denied = [denial for denial in reading.denials if start <= denial.at < at]
    later = marker == "before" or (marker == "until" and not denied)
    if marker in ("before", "until") and denied and not opens:
        reading.denials.remove(denied[-1])
        later = False
    return _split(reading, at, close, int(later))


def _clause(at: int, reading: Reading) -> tuple[int, int]:
    """Where the sentence around a position begins and ends."""
    start = max((stop for stop in reading.stops if stop < at), default=0)
    end = min((stop for stop in reading.stops if stop > at), default=1 << 30)
    return start, end


def _split(reading: Reading, start: int, end: int, marked_rank: int) -> tuple[tuple[str, int], ...]:
    return tuple(
        (word.term, marked_rank if start <= word.at < end else 1 - marked_rank)
        for word in reading.words
    )


def _listed(text: str, reading: Reading) -> tuple[tuple[str, int], ...]:
    """Every 'then' begins another step."""
    cuts = [found.start() for found in _EN.finditer(text) if found["marker"].lower() == "then"]
    return tuple((word.term, sum(cut <= word.at for cut in cuts)) for word in reading.words)
