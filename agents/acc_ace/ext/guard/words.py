"""The words of rules and tools in English and Japanese: acts, things, and what means the same."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from posixpath import normpath
from typing import Final

from acc_ace.core.text.lexicon_en import STOP_WORDS, root_of
from acc_ace.core.text.normalize import normalise, skeleton
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.ext.guard.calls import Text
from acc_ace.ext.guard.vocabulary import lines_of, words_of

_RUN: Final = lazy_pattern(
    r"(?P<en>(?:--|[/~#@.-])?[a-z0-9*~][a-z0-9*]*(?:[-_.:/@'*]+[a-z0-9*]+)*/?)"
    r"|(?P<ja>[\u3400-\u4dbf\u4e00-\u9fff々〆ヶ]+(?:[いきけしちみりえ][\u4e00-\u9fff](?=[\u3041-\u309f]))?"
    r"|[\u30a1-\u30faー]{2,}|[\u3041-\u309f]+)"
    r"|(?P<gap>[,;:()「」、。・])"
)
_OKURIGANA: Final = lazy_pattern(r"^[\u3041-\u309f]")
_HIRAGANA: Final = lazy_pattern(r"^[\u3041-\u309f]+$")
_PARTICLE: Final = lazy_pattern(r"^(?:は|を|が|に|の|で|と|へ|も|や|から|まで|あて)")
_HIRAGANA_NOUN: Final = lazy_pattern(r"^(?:[はをがにのでともへや])?([\u3041-\u309f]{2,}?)[をはが]$")
_NOT_NOUNS: Final = frozenset(
    ["こと", "もの", "ため", "よう", "とき", "ない", "しない", "さん", "くん", "ちゃん", "だけ"]
)
_NAME: Final = lazy_pattern(r"\d|[_./@*#~]|^-")
_PREPOSITIONS: Final = frozenset(
    ["in", "on", "to", "into", "from", "with", "for", "at", "by", "onto", "as"]
)


@dataclass(frozen=True)
class Thing:
    """A phrase of a rule that says which thing is meant."""

    words: tuple[str, ...]
    """Its content words, the noun last."""
    names: tuple[str, ...] = ()
    """Ids, paths, patterns and addresses."""
    proper: bool = False
    """Whether it is written as a name."""
    place: bool = False
    """Whether it stands behind a preposition, or に, で, へ."""

    @property
    def named(self) -> bool:
        """Whether it is one thing and no kind of things."""
        return bool(self.names) or self.proper or bool(ENVIRONMENTS.intersection(self.words))

    def __str__(self) -> str:
        """As the rule says it."""
        return " ".join((*self.words, *self.names))


ENVIRONMENTS: Final = frozenset(
    ["production", "prod", "staging", "test", "sandbox", "dev", "本番", "検証", "開発"]
)


WEAK: Final = frozenset(["right", "role", "permission", "access", "account", "権限"])


def things_in(text: str, cased: str = "") -> tuple[Thing, ...]:
    """The phrases of a normalised text; `cased` has its capitals."""
    proper = {
        normalise(skeleton(word))
        for word in re.findall(r"(?<=[\w,.] )[A-Z][\w'-]+", skeleton(cased))
    }
    things: list[Thing] = []
    words: list[str] = []
    names: list[str] = []
    place = False

    def close() -> None:
        nonlocal place
        if words or names:
            is_proper = bool(proper.intersection(words))
            things.append(Thing(tuple(words), tuple(names), is_proper, place))
            words.clear()
            names.clear()
        place = False

    for run, rest in _runs(text):
        word, kind = run.group(), run.lastgroup
        if kind == "en":
            bare = word.removesuffix("'s").strip(":'") if len(word) > 2 else word
            bare = bare.rstrip(".") or bare
            if _carries(bare) or bare in proper:
                is_name = bool(_NAME.search(bare))
                names.extend([bare] if is_name else ())
                words.extend(() if is_name else bare.split("-"))
                if not (text.isascii() or act_classes(bare) or _lookup(bare, acts=False)):
                    proper.add(bare)
                place = place or bool(re.match(r"(?:に|で|へ)", rest))
                if re.match(r"[はをがにでとへも]", rest):
                    close()
            else:
                close()
                place = bare in _PREPOSITIONS
        elif kind == "gap":
            close()
        elif noun := _HIRAGANA_NOUN.match(word):
            if noun[1] not in _NOT_NOUNS and not noun[1].endswith(("ない", "して", "する", "った")):
                close()
                things.append(Thing((noun[1],)))
        elif not _HIRAGANA.match(word):
            mark = _PARTICLE.match(rest)
            particle = mark[0] if mark else ""
            words.extend(part for part in _split(word) if part not in words_of("empty"))
            place = place or particle in {"に", "で", "へ", "あて"}
            if particle != "の" and not re.match(r"[a-z0-9#/\u30a1-\u30fa\u4e00-\u9fff]", rest):
                close()
    close()
    return tuple(things)


def _split(word: str) -> tuple[str, ...]:
    """A Japanese compound before the last word of the vocabulary in it: 管理者 and 権限."""
    table = _table(True).keys() | _table(False).keys()
    if word in table:
        return (word,)
    ends = (at for at in range(1, len(word) - 1) if word[at:] in table)
    return next(((word[:at], word[at:]) for at in ends), (word,))


def _runs(text: str) -> Iterator[tuple[re.Match[str], str]]:
    return ((run, text[run.end() : run.end() + 8]) for run in _RUN.finditer(text))


def _carries(word: str) -> bool:
    empty = STOP_WORDS | words_of("empty")
    plain = len(word) > 1 and empty.isdisjoint((word, root_of(word))) and not word.isdigit()
    return plain or is_name(word)


def is_name(word: str) -> bool:
    """Whether a word is an id, a path, a pattern or an address."""
    return bool(_NAME.search(word)) and not word.isdigit()


def is_generic(word: str) -> bool:
    """Whether a verb means any act."""
    return not words_of("generic").isdisjoint((word, root_of(word)))


def act_classes(word: str) -> frozenset[int]:
    """The classes of acts that a word means."""
    return _lookup(word, acts=True)


def acts_in(text: Text) -> frozenset[int]:
    """The classes of acts that a text speaks of."""
    found: set[int] = set()
    for word, classes in _table(True).items():
        if word in (text.stems if word.isascii() else text.text):
            found |= classes
    return frozenset(found)


def speaks_of(word: str, text: Text) -> bool:
    """Whether a text has the word, one that means the same, or the stem of it."""
    own = _lookup(word, acts=False) | {1_000 + at for at in _lookup(word, acts=True)}
    same = {w for acts in (False, True) for w, classes in _table(acts).items()
            if own & {at + 1_000 * acts for at in classes}}  # fmt: skip
    stem = root_of(word) if word.isascii() else word
    if any(w in (text.stems if w.isascii() else text.text) for w in (stem, *same)):
        return True
    if word.isascii():
        # "recal" is "recalibrate".
        return len(stem) >= 5 and any(len(s) >= 5 and stem.startswith(s) for s in text.stems)
    pairs = [word[at : at + 2] for at in range(len(word) - 1)]
    heads = pairs[::2] if len(word) >= 4 and len(word) % 2 == 0 else pairs
    return len(word) >= 3 and all(pair in text.text for pair in heads)


def names(pattern: str, text: Text) -> bool:
    """Whether a text has the id, lies below the path, or may fit the pattern."""
    return any(_is_named(pattern, token) for token in text.tokens)


def _lookup(word: str, *, acts: bool) -> frozenset[int]:
    table = _table(acts)
    if word.isascii():
        return table.get(root_of(word), frozenset())
    heads = [head for head in table if not head.isascii() and word.startswith(head)]
    return table.get(max(heads, key=len, default=""), frozenset())


@cache
def _table(acts: bool) -> Mapping[str, frozenset[int]]:
    table: dict[str, frozenset[int]] = {}
    for at, line in enumerate(lines_of("acts" if acts else "things")):
        for word in line:
            stem = root_of(word) if word.isascii() else word
            table[stem] = table.get(stem, frozenset()) | {at}
    return table


def _is_named(pattern: str, token: str) -> bool:
    if pattern.startswith(("/", "~")):
        if not token.startswith(("/", "~", ".")):
            return False
        wanted, parts = _parts(pattern), _parts(token)
        pairs = zip(wanted, parts, strict=False)
        return len(parts) >= len(wanted) and all(may_match(a, b) for a, b in pairs)
    pattern = pattern.lstrip("@")
    if may_match(pattern, token):
        return True
    if "/" in pattern:
        # A path in a project, such as vendor/ or config/prod.yml, wherever the project is.
        wanted, parts = _parts(pattern), _parts(token)
        spans = (parts[at : at + len(wanted)] for at in range(len(parts) - len(wanted) + 1))
        return bool(wanted) and any(all(map(may_match, wanted, span)) for span in spans)
    # The host db-01 is db-01.internal; the domain a.example holds b.a.example.
    return token.endswith("." + pattern) if "." in pattern else token.startswith(pattern + ".")


def _parts(path: str) -> list[str]:
    """The parts of a path, with '..' resolved; '~' is any home."""
    home = re.sub(r"^~[^/]*", "/home/*", path)
    plain = normpath("/" + home.lstrip("/"))
    return [part for part in plain.removeprefix("/root").split("/") if part]


@lru_cache(maxsize=4_096)
def may_match(one: str, other: str) -> bool:
    """Whether two patterns with `*` have a name in common."""
    if len(one) + len(other) > 300 or "*" not in one + other:
        return one == other
    todo, reached = [(0, 0)], {(0, 0)}
    for a, b in todo:
        left, right = one[a : a + 1], other[b : b + 1]
        steps = {(a + 1, b)} if left == "*" or (right == "*" and left) else set()
        steps |= {(a, b + 1)} if right == "*" or (left == "*" and right) else set()
        steps |= {(a + 1, b + 1)} if left and left == right else set()
        todo += steps - reached
        reached |= steps
    return (len(one), len(other)) in reached
