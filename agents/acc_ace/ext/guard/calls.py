"""What a tool is for, and what a call of it says: words, values, commands and prose apart."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from acc_ace.core.text.lexicon_en import root_of
from acc_ace.core.text.normalize import normalise, skeleton
from acc_ace.core.text.patterns import lazy_pattern, words_of

_WORD: Final = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ASIDE: Final = lazy_pattern(
    r"\bwithout\b.*|\bchanges nothing\b.*|せずに.*|しないで.*|省くと.*", re.IGNORECASE
)
_COMMANDS: Final = words_of("command cmd script sql query statement args code commands argv")
_PROSE: Final = words_of("body text message content comment note notes prompt html reason 本文")
_PATH: Final = lazy_pattern(r"(?<![\w.~-])[\w.~-]{0,200}/[\w./-]+")
_READS: Final = lazy_pattern(
    r"^\s*(?:sudo )?(?:select|show|explain|describe|ls|cat|du|df|grep|head|tail|stat|ps|uptime|find"
    r"|git (?:status|log|diff|show))\b(?!.*(?:[;>|&]|-delete|-exec))",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Tool:
    """A tool as the app declares it."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The properties of its JSON schema."""
    reads: bool = False
    """Whether the operator or a trusted server says that it only reads."""
    acts: bool = False
    """Whether the operator or its server says that it acts."""

    @cached_property
    def words(self) -> "Text":
        """Its name and what it is for."""
        return Text(" ".join([*words_in(self.name), _ASIDE.sub("", self.description)]))


@dataclass(frozen=True)
class ActCall:
    """A call of a tool."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Text:
    """A normalised text, its stems, and its letters and digits alone."""

    def __init__(self, text: str) -> None:
        self.text = normalise(skeleton(text))
        self.stems = frozenset(map(root_of, re.findall(r"[a-z]+|\d+", self.text)))
        self.joined = re.sub(r"[\W_]+", "", self.text)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Ids, paths, addresses and numbers."""
        whole = re.findall(r"[\w*./@:~+-]+", self.text)
        parts = (part for token in whole for part in re.split(r"[@:=,]|(?<=\w)/", token))
        return frozenset(token.rstrip(".:") for token in (*whole, *parts) if token)


@dataclass(frozen=True)
class Leaf:
    """An argument by its innermost key."""

    key: str
    value: object
    about: str = ""
    """What the tool's schema says of it, normalised."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its key."""
        return tuple(map(normalise, words_in(self.key)))

    @cached_property
    def name(self) -> str:
        """Its key in words."""
        return " ".join(self.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its key."""
        return frozenset(root_of(w) if w.isascii() else w for w in self.words)

    @property
    def kind(self) -> str:
        """'command', 'prose' or 'value'."""
        if not isinstance(self.value, str):
            return "value"
        last = self.words[-1:] and self.words[-1]
        return "command" if last in _COMMANDS else "prose" if last in _PROSE else "value"


class Speech:
    """What a call says."""

    def __init__(self, call: ActCall, tool: Tool) -> None:
        self.leaves = tuple(_leaves(call.args, tool.parameters))
        self.rehearses = any(leaf.value is True and "dry" in leaf.words for leaf in self.leaves)
        on = [leaf for leaf in self.leaves if leaf.value not in (False, None, "", 0)]
        self.values = Text(" ; ".join(_shown(leaf) for leaf in on if leaf.kind == "value"))
        # "feature/main-menu" does not speak of main.
        self.strict = Text(_PATH.sub(_parts, self.values.text))
        commands = [str(leaf.value) for leaf in on if leaf.kind == "command"]
        # What has a path is about a file.
        paths = ["file"] if any(_PATH.search(text) for text in commands) else []
        self.commands = Text(" ".join(commands + paths))
        self.strict_commands = Text(_PATH.sub(_parts, self.commands.text))
        self.prose = Text(" ".join(str(leaf.value) for leaf in on if leaf.kind == "prose"))
        self.keys = Text(" ".join(leaf.name for leaf in on))
        self.off = Text(" ".join(leaf.name for leaf in self.leaves if leaf.value is False))
        self.reads = bool(commands) and all(_READS.search(text) for text in commands)


def _parts(path: re.Match[str]) -> str:
    return " ".join(part for part in path.group().split("/") if part.isalnum())


def words_in(name: str) -> list[str]:
    """The words of a name in snake or camel case; another script as it is."""
    return _WORD.findall(name) if name.isascii() else [name]


def _shown(leaf: Leaf) -> str:
    """An argument's value as words; a switch that is on is what it is called."""
    return "enable" if leaf.value is True else str(leaf.value)


def _leaves(args: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Leaf]:
    """The arguments, nested ones by the innermost key, each item of a list apart."""
    for key, value in args.items():
        about = schema.get(key)
        wording = normalise(str(about.get("description", ""))) if isinstance(about, Mapping) else ""
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Mapping):
                inner = about.get("properties", {}) if isinstance(about, Mapping) else {}
                yield from _leaves(item, inner)
            elif isinstance(item, list | tuple):
                yield Leaf(str(key), " ".join(map(str, item)), wording)
            else:
                yield Leaf(str(key), item, wording)
