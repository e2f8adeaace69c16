"""Shell lines as calls: each program with its subcommand is a tool, its words are its arguments."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise, product, takewhile
from pathlib import Path
from posixpath import join, normpath
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

PROGRAMS: Final = {kind: frozenset(names.split()) for kind, names in _TABLES["programs"].items()}
_SAYS: Final = {name: says for says, names in _TABLES["means"].items() for name in names.split()}
_SCAN: Final = (
    r"'[^']*'|\"(?:\\.|[^\"\\$]|\$(?!\())*\"|\\.|(?<![^\s;|&()])#[^\n]*|\(\(|<<<|\n"
    r"|<<-?[ \t]*['\"\\]?(?P<end>[\w-]+)['\"]?"
)
"""What tells a heredoc from quoted text, comments and arithmetic."""

_INNER: Final = r"\$\(([^()]*)\)|`([^`]*)`"
_SAYING: Final = (["echo"], ["printf"])
_EXECS: Final = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
_VALUED: Final = frozenset(["-I", "-u", "-g", "-d"])
"""Options of what runs others, of `sudo` and `xargs`, that take a value."""

_WRITES: Final = frozenset([">", ">>", ">|", "&>", "&>>"])


def calls_of_shell(line: str, depth: int = 0, folder: str = "") -> Iterator[Call]:
    """The calls of a line of commands; what cannot be split is taken word by word."""
    text, bodies = _without_heredocs(line[:_LONGEST])
    try:
        commands = [*_simple_commands(text)]
    except ValueError:
        commands = [part.split() for part in re.split(r"[;|&\n]", text)]
    for place, words in dict.fromkeys(_placed(commands[:_MOST], folder)):
        yield from _calls(list(words), depth, place)
    beyond = [word for words in commands[_MOST:] for word in words] + line[_LONGEST:].split()
    if beyond:
        yield from _calls(["rest", *[*dict.fromkeys(beyond)][:_MOST_WORDS]], depth)
    if depth >= _DEEPEST:
        return
    for parts in re.findall(_INNER, text):
        yield from calls_of_shell("".join(parts), depth + 1, folder)
    scripts = bodies + [" ".join(words[1:]) for words in commands if words[:1] in _SAYING]
    readers = dict.fromkeys(filter(None, map(_reader, commands[:_MOST])))
    for reader, script in [*product(readers, scripts)][:_MOST]:
        yield from _calls([*reader, script], depth + 1, folder)


def _without_heredocs(text: str) -> tuple[str, list[str]]:
    """The text without comments and the bodies of heredocs, and these bodies."""
    pieces, bodies, ends = list[str](), list[str](), list[str]()
    scan, at, last = re.compile(_SCAN), 0, 0
    while len(pieces) < _MOST_WORDS and (mark := scan.search(text, at)):
        at = mark.end()
        if mark["end"] or mark[0].startswith("#"):
            ends += filter(None, [mark["end"]])
            pieces.append(text[last : mark.start()])
            last = at
        elif mark[0] == "((":
            at = max(at, text.find("))", at))
        elif mark[0] == "\n" and ends:
            pieces.append(text[last:at])
            for end in ends[:_MOST]:
                close = re.compile(rf"(?m)^[ \t]*{re.escape(end)}[ \t]*$").search(text, at)
                if close:
                    bodies.append(text[at : close.start()])
                    at = close.end()
            ends, last = [], at
    return "".join([*pieces, text[last:]]), bodies


def _placed(commands: Sequence[list[str]], folder: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each command with the folder that `cd` has gone to."""
    for words in commands:
        if words[:1] == ["cd"]:
            folder = normpath(join(folder, words[-1])) if len(words) > 1 else ""
        yield folder, tuple(words)


def _reader(words: list[str]) -> tuple[str, ...]:
    """What runs a script as a command that reads it from its input does; () for others."""
    words = _unwrapped([*takewhile(lambda word: word not in _WRITES, words)])
    name = words[0].rpartition("/")[2] if words else ""
    if name == "ssh":
        host, command = _remote(words[1:])
        return ("ssh", host) if not command or PROGRAMS["shells"] & {*command.split()} else ()
    is_bare = all(word.startswith("-") for word in words[1:]) or "-s" in words
    return (name, "-c") if name in PROGRAMS["shells"] and is_bare else ()


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


def _calls(words: list[str], depth: int, folder: str = "") -> Iterator[Call]:
    for sign, path in pairwise(words):
        if sign in _WRITES:
            yield file_call("write_file", "Creates or changes a file.", join(folder, path))
    spoken = takewhile(lambda word: not word.startswith("#"), words)
    words = _unwrapped([word for word in spoken if word not in _WRITES])
    if not words:
        return
    program, rest = words[0].rpartition("/")[2], words[1:]
    inner = [*_within(words, depth, folder)] if depth < _DEEPEST else []
    yield from inner
    if inner and program != "find":
        return
    plain = [word for word in rest if not word.startswith("-")]
    act = ""
    if program in PROGRAMS["grouped"] and plain:
        act = next((word for word in plain if act_classes(word)), plain[0])
    if program == "git" and act in {"commit", "tag", "merge", "notes"}:
        rest = _without_message(rest)
    name = "_".join(filter(None, (program, act)))
    if program in PROGRAMS["silent"]:
        return
    says = _SAYS.get(name) or _SAYS.get(program, "")
    if name in PROGRAMS["reads"] and not {"-delete", *_EXECS}.intersection(rest):
        name, says = f"read_{name}", "read files"
    tool = Tool(name, says, {"targets": {"type": "array"}})
    targets = [word for word in rest if word != act]
    if folder and "files" in says:
        targets = [word if word.startswith("-") else join(folder, word) for word in targets]
    yield tool, ActCall(name, {"targets": targets})


def _within(words: list[str], depth: int, folder: str) -> Iterator[Call]:
    """The calls that a command is given to run."""
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program == "ssh":
        host, command = _remote(rest)
        for tool, call in calls_of_shell(command, depth + 1):
            yield tool, ActCall(call.tool, {**call.args, "host": host})
    elif program == "find":
        yield from _found(rest, depth + 1, folder)
    elif program in PROGRAMS["shells"] and any(re.match("-[a-z]*c", word) for word in rest):
        script = next((word for word in rest if not word.startswith("-")), "")
        yield from calls_of_shell(script, depth + 1, folder)
    elif " " in words[0].strip():
        yield from calls_of_shell(words[0], depth + 1, folder)


def _found(words: list[str], depth: int, folder: str) -> Iterator[Call]:
    """What `find` does to what it finds."""
    places = [*takewhile(lambda word: not word.startswith("-"), words)]
    at = [at for at, word in enumerate(words) if word in _EXECS]
    for begin, end in pairwise([*at, len(words)]):
        yield from _calls([*words[begin + 1 : end], *places], depth, folder)
    if "-delete" in words:
        yield from _calls(["rm", *places], depth, folder)


def _remote(words: list[str]) -> tuple[str, str]:
    """The host and the command of `ssh`."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 1 + bool(re.fullmatch("-[A-Za-z]*[BbcDEeFIiJLlmOopQRSWw]", words[at]))
    return " ".join(words[at : at + 1]), " ".join(words[at + 1 :])


def _unwrapped(words: list[str]) -> list[str]:
    """A command without what runs it."""
    while words:
        name = words[0].rpartition("/")[2]
        if name not in PROGRAMS["wrappers"] and not re.match(r"\w+=", words[0]):
            return words
        words = words[1:]
        while words and name in PROGRAMS["wrappers"] and re.match(r"-|\d+[smh]?$", words[0]):
            words = words[1 + (words[0] in _VALUED) :]
    return words


def _without_message(words: list[str]) -> list[str]:
    text = {at + 1 for at, word in enumerate(words) if re.fullmatch("-[a-z]*m|--message", word)}
    return [w for at, w in enumerate(words) if at not in text and not w.startswith("--message=")]
