"""Shell lines as calls: each program with its subcommand is a tool, its words are its arguments."""

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from shlex import shlex
from typing import Final

from acc_ace.ext.guard.calls import ActCall, Tool
from acc_ace.ext.guard.words import act_classes

Call = tuple[Tool, ActCall]

_LONGEST: Final = 20_000
_MOST: Final = 100
_MOST_WORDS: Final = 1_000
"""Characters of a line and commands that are read; of what follows, words are."""

_DEEPEST: Final = 4
_TABLES: Final = tomllib.loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))
TOOLS: Final = {kind: frozenset(names.split()) for kind, names in _TABLES["clients"].items()}
"""The tools of clients by kind."""

_PROGRAMS: Final = {kind: frozenset(names.split()) for kind, names in _TABLES["programs"].items()}
_SAYS: Final = {name: says for says, names in _TABLES["means"].items() for name in names.split()}
_HEREDOC: Final = r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(?:.*?\n)??[ \t]*\2[ \t]*(?=\n|$)"
_INNER: Final = r"\$\(([^()]*)\)|`([^`]*)`"
_WRITES: Final = frozenset([">", ">>", ">|", "&>", "&>>"])


def calls_of_shell(line: str, depth: int = 0) -> Iterator[Call]:
    """The calls of a line of commands; a line that cannot be split is one call with all words."""
    text = re.sub(_HEREDOC, r"\3", line[:_LONGEST], flags=re.DOTALL)
    try:
        commands = [*dict.fromkeys(map(tuple, _simple_commands(text)))]
    except ValueError:
        commands = [tuple(line[:_LONGEST].split())]
    for words in commands[:_MOST]:
        yield from _calls(list(words), depth)
    beyond = [word for words in commands[_MOST:] for word in words] + line[_LONGEST:].split()
    if beyond:
        yield from _calls(["rest", *[*dict.fromkeys(beyond)][:_MOST_WORDS]], depth)
    inner = re.findall(_INNER, text) if depth < _DEEPEST else []
    for parts in inner:
        yield from calls_of_shell("".join(parts), depth + 1)


def file_call(tool: str, says: str, path: str) -> Call:
    """A call of a tool on one file."""
    declared = Tool(tool, says, {"file_path": {"type": "string"}})
    return declared, ActCall(tool, {"file_path": path})


def _simple_commands(text: str) -> Iterator[list[str]]:
    """The words of each command; a file that is written to is a command of its own."""
    lexer = shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    tokens = iter(lexer)
    for token in tokens:
        if token in _WRITES:
            words.append(token)
        elif token and set(token) <= set("();<>|&\n"):
            if words:
                yield words
            words = []
        else:
            words.append(token)
    if words:
        yield words


def _calls(words: list[str], depth: int) -> Iterator[Call]:
    for sign, path in pairwise(words):
        if sign in _WRITES:
            yield file_call("write_file", "Creates or changes a file.", path)
    spoken = takewhile(lambda word: not word.startswith("#"), words)
    words = _unwrapped([word for word in spoken if word not in _WRITES])
    if not words:
        return
    program, rest = words[0].rpartition("/")[2], words[1:]
    if (
        program in _PROGRAMS["shells"]
        and depth < _DEEPEST
        and any(re.match("-[a-z]*c", w) for w in rest)
    ):
        script = next((word for word in rest if not word.startswith("-")), "")
        yield from calls_of_shell(script, depth + 1)
        return
    plain = [word for word in rest if not word.startswith("-")]
    act = ""
    if program in _PROGRAMS["grouped"] and plain:
        act = next((word for word in plain if act_classes(word)), plain[0])
    if program == "git" and act in {"commit", "tag", "merge", "notes"}:
        rest = _without_message(rest)
    name = "_".join(filter(None, (program, act)))
    if program in _PROGRAMS["silent"]:
        return
    says = _SAYS.get(name) or _SAYS.get(program, "")
    if name in _PROGRAMS["reads"] and not {"-delete", "-exec"}.intersection(rest):
        name, says = f"read_{name}", "read files"
    tool = Tool(name, says, {"targets": {"type": "array"}})
    yield tool, ActCall(name, {"targets": [word for word in rest if word != act]})


def _unwrapped(words: list[str]) -> list[str]:
    """A command without what runs it; a remote host becomes its last word."""
    while words:
        name = words[0].rpartition("/")[2]
        if name in _PROGRAMS["wrappers"] or re.match(r"\w+=", words[0]):
            words = words[1:]
            while words and name in _PROGRAMS["wrappers"] and re.match(r"-|\d+[smh]?$", words[0]):
                words = words[1:]
        elif name == "ssh" and len(words) > 2 and not words[1].startswith("-"):
            words = [*" ".join(words[2:]).split(), words[1]]
        else:
            return words
    return words


def _without_message(words: list[str]) -> list[str]:
    text = {at + 1 for at, word in enumerate(words) if re.fullmatch("-[a-z]*m|--message", word)}
    return [w for at, w in enumerate(words) if at not in text and not w.startswith("--message=")]
