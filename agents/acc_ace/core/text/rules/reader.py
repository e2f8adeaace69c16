"""A small trained reader: how likely a sentence binds the agent, loosens a rule or sets a goal.

Logistic regression over hashed pieces of the sentence, for English and Japanese. Weights and
thresholds are data (`reader.bin`), written by `bench/rules_reader.py`. It is a second opinion, no
gate of its own: while a tenth of the near misses fires, it misses a quarter of the rules.
"""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypedDict
from zlib import crc32

from acc_ace.core.text.normalize import language_of, normalise
from acc_ace.core.text.patterns import any_of, lazy_pattern, remembered

WEIGHTS: Final = Path(__file__).parent / "reader.bin"
VERSION: Final = 1
BUCKETS: Final = 1 << 17
Language = Literal["en", "ja"]

_LONGEST = 400
"""Characters read of a sentence: rules are short, and time grows with length."""

_WORD = lazy_pattern(r"[a-z0-9ß-öø-ÿœ']+|[ぁ-ゟ]+|[゠-ヿ]+|[一-鿿々]+|[^\sa-z0-9ß-öø-ÿœ']")
_NUMBER = lazy_pattern(r"\d+(?:[.,:]\d+)*")
_CONTENT = lazy_pattern("[一-鿿々]+|[゠-ヿ]+")
_ENDINGS = ("ing", "ed", "ly", "s")
_CHINESE: Final = frozenset("你您她這們嗎呢吧很沒讓給請別把")
"""Characters that Japanese without kana does not write, though its encodings have them."""


class Trust(StrEnum):
    """How far what the CCM says of rules is heeded."""

    BELIEVED = "believed"
    UNPROVED = "unproved"
    """It has not shown yet that it finds rules: what it passes over is not taken for none."""
    DOUBTED = "doubted"
    """It has been wrong too often: in force is what the reader half believes besides."""
    ABSENT = "absent"
    """It said nothing of rules, or nothing that can be used: the reader decides alone."""


HEEDED: Final = frozenset({Trust.BELIEVED, Trust.UNPROVED})
"""With these, what a CCM calls a rule is taken for one."""


class Header(TypedDict):
    """What stands before the weights in the file, as a line of JSON."""

    version: int
    scales: dict[str, list[float]]
    """By language and target: what a weight of 1 stands for."""
    offsets: dict[str, list[float]]
    """By language and target: what is added to the sum."""
    thresholds: dict[str, dict[str, float]]
    """By language and name: probabilities, fixed on hands that it was not trained on."""
    common: list[str]
    """Frequent English words, which keep their form where others become a shape."""
    foreign: list[str]
    """Function words of languages that it was not trained on and that share English letters."""


class SentenceReading(NamedTuple):
    """Three probabilities of a sentence, and what they are called."""

    binds: float
    loosens: float
    goal: float
    language: Language = "en"
    is_plain: bool = False
    """Has the form of a plain prohibition, and is not certainly none."""

    def reaches(self, limit: str) -> bool:
        """Whether it binds as surely as one of the limits says; of no other.

        As 'suspect' do at most 35 % of near misses and 15 % of ordinary sentences, as 'half' 20
        and 6 %, as 'sure' 6 and 2 %, as 'very_sure' 1 and 0.3 %.
        """
        return self.binds > self._limits.get(limit, 1.0)

    @property
    def is_certainly_none(self) -> bool:
        """Binds nothing: at most 5 % of rules seem so."""
        return self.binds < self._limits["certain_none"]

    @property
    def loosens_alone(self) -> bool:
        """Loosens, with no believed model beside: at most 6 % of restrictions seem so."""
        return self.loosens > self._limits["loosens_alone"]

    @property
    def loosens_surely(self) -> bool:
        """Loosens, as hardly any near miss or ordinary sentence seems to."""
        return self.loosens > self._limits["loosens_asked"]

    @property
    def loosens_though_believed(self) -> bool:
        """Loosens, though a believed model says otherwise: at most 1 % of restrictions seem so."""
        return self.loosens > self._limits["loosens_believed"]

    @property
    def least_sure(self) -> float:
        """The least of `binds` that is sure."""
        return self._limits["sure"] + 1e-6

    @property
    def least_very_sure(self) -> float:
        """The least of `binds` that is very sure."""
        return self._limits["very_sure"] + 1e-6

    @property
    def _limits(self) -> dict[str, float]:
        return _shipped().header["thresholds"][self.language]


class TrainedReader(NamedTuple):
    """A trained reader; `weights` has a byte by language, target and bucket."""

    header: Header
    common: frozenset[str]
    foreign: frozenset[str]
    weights: memoryview

    @classmethod
    def parse(cls, data: bytes) -> "TrainedReader":
        """The reader of a file's content."""
        head, _, body = data.partition(b"\n")
        header: Header = json.loads(head)
        common, foreign = frozenset(header["common"]), frozenset(header["foreign"])
        return cls(header, common, foreign, memoryview(body).cast("b"))

    def read(self, sentence: str) -> SentenceReading:
        """The probabilities of one sentence: the highest of those of its parts."""
        language = language_of(sentence)
        odds = [self._read_part(part, language) for part in parts(sentence)]
        binds, loosens, goal = map(max, zip(*odds, strict=True))
        return SentenceReading(binds, loosens, goal, language)

    def _read_part(self, part: str, language: Language) -> list[float]:
        sums = [0.0, 0.0, 0.0]
        for value, buckets in pieces(part, language, self.common):
            for target in range(3):
                start = (target + 3 * (language == "ja")) * BUCKETS
                plane = self.weights[start : start + BUCKETS]
                sums[target] += value * sum(map(plane.__getitem__, buckets))
        scales, offsets = self.header["scales"][language], self.header["offsets"][language]
        return [*map(_probability, sums, scales, offsets)]


@remembered
def read_sentence(sentence: str) -> SentenceReading:
    """Read one sentence of a user; within a millisecond.

    A plain prohibition is rare where people write to be understood, and so in what the reader was
    trained on; where the reader has any doubt that it is none, its form decides.
    """
    reading = _shipped().read(sentence)
    plain = (part for part in map(normalise, parts(sentence)) if _PLAIN.search(part))
    # "Then never …" is rare as well: what leads in has no say.
    if all(_shipped().read(_LEADS.sub("", part)).is_certainly_none for part in plain):
        return reading
    return reading._replace(binds=max(reading.binds, reading.least_sure), is_plain=True)


_LEADS = lazy_pattern(
    r"^(?:(?:also|and|but|so|then|plus|ok(?:ay)?|yes|please|just|again|in (?:the )?future|for now"
    r"|from (?:now|here|today) on(?:wards?)?|(?:as of|starting) (?:now|today)|going forward),? )*"
)
_PLAIN = any_of(
    rf"{_LEADS.pattern}(?:never|do not|don't|dont) (?!worry|forget|hesitate|mind|be|get|give|let"
    r"|think|feel|know|have|need|want|you|even|again|had|saw|seen|been|said|knew)[a-z-]+ [^?]*$",
    rf"{_LEADS.pattern}no (?!worries|thanks|news|ideas|plans|signs|words|problems|issues|regrets)"
    r"[a-z-]+(?:s|ing) (?:of|to|in|on|at|during|before|after|without|for|from|with)\b[^?]*$",
    r"(?<!心配し)(?<!気にし)(?<!無理し)(?<!遠慮し)(?<!忘れ)(?:ない|[らかさまわ]ん)で"
    r"(?:ください|下さい|くださいね|ね|ほしい(?:です)?|もらえますか)?[。!！]?$",
    r"(?:するな|(?:する|し)?こと(?:は|を)?禁止(?:です)?|[^、。]禁止(?:です)?|厳禁(?:です)?"
    r"|ないこと)[。!！]?$",
)


def parts(sentence: str) -> list[str]:
    """A sentence, and what is left of it behind each of its first leading clauses.

    'By the way, never push' says what 'never push' says; what somebody said does not.
    """
    texts = [sentence[:_LONGEST]]
    while len(texts) <= _MOST_LEADS and (lead := _LEAD.match(texts[-1])):
        rest = texts[-1][lead.end() :]
        if len(rest) < _SHORTEST or REPORTED.search(normalise(lead.group())):
            break
        texts.append(rest)
    return texts


_MOST_LEADS, _SHORTEST = 3, 9
_LEAD = lazy_pattern(r"[^,:;、，：—–]{1,60}?(?:[,:;、，：—–]| - )\s*")
REPORTED: Final = any_of(
    r"(?<!\bi )(?<!\bwe )\b(?:says?|said|tells?|told|claims?|claimed|heard|according to)\b",
    r"と(?:言|い)(?:って|った|う|われ|いました)|と聞|(?:だ|た)そう|らしい",
)
"""What somebody else is said to have said."""


def knows(text: str) -> bool:
    """Whether a text is English or Japanese, as far as scripts and function words tell.

    A text without words counts as known: there is nothing in it to misread.
    """
    plain = normalise(text)
    letters = [letter for letter in plain if letter.isalpha()]
    kana = sum("ぁ" <= letter <= "ヿ" for letter in letters)
    han = "".join(letter for letter in letters if "一" <= letter <= "鿿")
    if (sum(letter < "ɐ" for letter in letters) + kana + len(han)) * 3 < len(letters) * 2:
        return False
    if kana or han:
        # Simplified characters are in no Japanese encoding.
        written = han.encode("cp932", "ignore").decode("cp932")
        return bool(kana) or (written == han and _CHINESE.isdisjoint(han))
    words, reader = _WORD.findall(plain), _shipped()
    english = sum(word in reader.common for word in words)
    foreign = sum(word in reader.foreign for word in words)
    accented = sum(word.isalpha() and not word.isascii() for word in words)
    return (not foreign or foreign < english) and accented <= english


@cache
def _shipped() -> TrainedReader:
    return TrainedReader.parse(WEIGHTS.read_bytes())


def _probability(total: float, scale: float, offset: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total * scale + offset))))


def pieces(
    sentence: str, language: Language, common: Collection[str]
) -> Iterator[tuple[float, set[int]]]:
    """The buckets of a sentence's pieces, kind by kind, with the value of each of them.

    Characters, words, shapes (what is left without the words of a domain), and pairs of common
    words. A number counts as 0.
    """
    text = _NUMBER.sub("0", normalise(sentence[:_LONGEST]))
    words = _WORD.findall(text)
    shapes = [_shape(word, common) for word in words]
    short = [word for word in shapes if word in common or "ぁ" <= word[0] <= "ゟ"][:24]
    kinds = (
        _runs("c", f"^{text}$", 1, 5),
        _runs("w", ["^", *words, "$"], 1, 3),
        _runs("s", ["^", *shapes, "$"], 1, 5)
        if language == "en"
        else _runs("s", _CONTENT.sub(lambda run: "漢カ"[run[0] < "一"], f"^{text}$"), 2, 6),
        {f"p{a} {b}" for at, a in enumerate(short) for b in short[at + 1 : at + 6]},
    )
    for kind in kinds:
        if kind:
            buckets = {crc32(piece.encode("utf-8", "replace")) % BUCKETS for piece in kind}
            yield len(buckets) ** -0.3, buckets


def _runs(kind: str, parts: Sequence[str], shortest: int, longest: int) -> set[str]:
    return {
        kind + ("" if isinstance(parts, str) else " ").join(parts[at : at + size])
        for size in range(shortest, longest + 1)
        for at in range(len(parts) - size + 1)
    }


def _shape(word: str, common: Collection[str]) -> str:
    if word in common or not "a" <= word[0] <= "z":
        return "0" if word[0].isdigit() else word
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2), "")
    return f"-{ending}"
