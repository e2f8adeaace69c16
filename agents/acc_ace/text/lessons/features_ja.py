"""Read runs of Japanese: kanji and katakana words, counted numbers, denials; endings drop out."""

from acc_ace.text.lessons.lesson_words import Reading, Word
from acc_ace.text.lessons.lexicon_ja import (
    COUNTER,
    DIGITS,
    ENDING,
    HIRAGANA,
    KANJI,
    KATAKANA,
    LIGHT,
    NEGATION,
    SYNONYMS,
    opposites_of,
)
from acc_ace.text.patterns import lazy_pattern

_PIECE = lazy_pattern(
    rf"(?P<no>{NEGATION.pattern})|(?P<end>{ENDING.pattern})"
    rf"|第?(?P<number>[〇一二三四五六七八九十百千万億]+)(?P<counter>{COUNTER})"
    rf"|(?P<kanji>(?:(?!(?:禁止|厳禁|不要|不可)(?![{KANJI}]))[{KANJI}])+)|(?P<katakana>[{KATAKANA}]+)"
    rf"|(?P<kana>(?:(?!{NEGATION.pattern}|{ENDING.pattern})[{HIRAGANA}])+)"
)
_FUNCTION = lazy_pattern(
    "について|によって|により|として|という|かどうか|そして|それでも|ください|から|まで|ので|には|では"
    "|とは|への|との|ても|でも|だけ|など|れば|られ|たら|なら|とき|ため|よう|また|この|その|これ|それ"
    "|どちら|して|した|する|ある|いる|なる|もの|および|かつ|[はがをにでともへやのかなりし]"
)
_EDGE = lazy_pattern(r"^(?P<head>[最各全毎]?)(?P<body>.+?)(?P<tail>[前後時中内外用者]?)$")


def read_run(run: str, at: int, reading: Reading) -> None:
    """Note a run of Japanese characters."""
    before = ""
    for match in _PIECE.finditer(run):
        piece, start = match.group(), at + match.start()
        match match.lastgroup:
            case "no":
                reading.deny_last(start)
            case "counter":
                reading.number(match["number"].translate(DIGITS), match["counter"])
            case "kanji":
                _kanji(piece, start, reading)
            case "katakana":
                _add(piece.rstrip("ー") or piece, start, reading)
            case "kana":
                _kana(piece, start, reading, after_kanji=before == "kanji")
        before = match.lastgroup or ""
    reading.begins = False


def _kanji(run: str, at: int, reading: Reading) -> None:
    for part in _parts(run):
        _add(part, at, reading)


def _parts(run: str) -> list[str]:
    """A run cut into words of two characters; three stay together, affixes stand alone."""
    if run in SYNONYMS or opposites_of(run) or len(run) <= 2:
        return [run]
    if len(run) == 3:
        edge = _EDGE.fullmatch(run)
        if edge is None or not (edge["head"] or edge["tail"]):
            return [run]
        return [part for part in edge.groups() if part]
    if run[-1] in "前後時中内外":
        return [*_parts(run[:-1]), run[-1]]
    return [run[at : at + 2] for at in range(0, len(run), 2)]


def _add(word: str, at: int, reading: Reading) -> None:
    meaning = SYNONYMS.get(word, word)
    if opposites_of(meaning):
        reading.poles.add(meaning)
    if word not in LIGHT:
        reading.add(Word(meaning, at))


def _kana(run: str, at: int, reading: Reading, *, after_kanji: bool) -> None:
    """Particles say what goes where; what is left of three characters or more is a word."""
    if reading.words and reading.words[-1].at < at:
        if run.startswith("を") or run.startswith("から"):
            reading.sources.add(reading.words[-1].term)
        elif run.startswith("へ") or (run.startswith("に") and not run.startswith("には")):
            reading.targets.add(reading.words[-1].term)
    for position, piece in enumerate(_FUNCTION.split(run)):
        is_inflection = after_kanji and position == 0
        if len(piece) >= 3 and not is_inflection and piece not in LIGHT:
            _add(piece[:3], at, reading)
