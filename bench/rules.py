"""Who makes and lifts rules: compressors of known character on labelled messages and chats.

    python -m bench.rules [--sets DIR] [--half odd|even|all] [--labelled FILE] [--beam FILE]
        [--multichallenge FILE] [--locomo FILE] [--compress every|adaptive] [-v]

`--sets` holds `rows-{en,ja}.jsonl` (messages by kind, with labels) and `chats-{en,ja}.jsonl`;
`--half` takes the rows whose number is odd (default), even, or all. `--labelled` is a file of
messages with labelled spans; BEAM, MultiChallenge and LoCoMo are public sets, read from their
paths. With `--compress adaptive` the compressor is asked when it would be, and what waits is read
at an act of the turn after. Prints each figure by language beside its goal; with -v, and of the odd
half only, what misses.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from acc_ace.core.gates.commands import parse_command
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import Attachment
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import normalised
from bench.rules_columns import (
    COLUMNS,
    STANDING,
    Column,
    Said,
    Turn,
    covers,
    pin_of,
    state_of,
    take,
)

Row = dict[str, Any]

_NUMBER = re.compile(r"\d+$")
_AMOUNT = re.compile(r"\d[\d,.万千百億]*")
_CHANGES = re.compile(r"instead of|from now on|にして|に変|に直|に(?:延ば|広げ)")
_PERMITS = re.compile(
    r"\b(?:may|can)\b(?! not)|feel free|no need|without (?:ask|confirm)|てよい|構いません"
)
_SESSION = re.compile(r"session_\d+")
_PASTED = 300
_RETAINING: Final = ("perfect", "none")
"""Columns by which the instructions of the public sets are counted."""

GOALS: Final[dict[str, tuple[str, ...]]] = {
    "rules lifted or altered without a consent that names them": ("0", "0", "0", "0"),
    "own restrictions in force at once": (">= 98 %", ">= 98 %", ">= 60 %", ">= 50 %"),
    "  of lists of 30 (what has no room is left out)": (">= 98 %", ">= 98 %", ">= 60 %", ">= 50 %"),
    "own restrictions not kept for want of room, and said": ("report",) * 4,
    "own rules that disappear without a word": ("0", "0", "<= 15 %", "<= 12 %"),
    "changes that disappear without a word": ("0", "0", "-", "-"),
    "changes asked about, of the rule that is meant": ("100 %", "100 %", "-", "-"),
    "  before and after shown in full": ("100 %", "100 %", "-", "-"),
    "rewordings that become a second rule": ("0", "<= 5 %", "-", "<= 10 %"),
    "  when the CCM proposes them as new": ("<= 5 %", "<= 5 %", "-", "-"),
    "second rules in force, the first as it was, not asked about": ("100 %", "100 %", "-", "-"),
    "permissions or orders in force without consent": ("0", "0", "<= 12 %", "<= 3 %"),
    "unrelated rule proposed as a change": ("0", "0", "a needless line", "0"),
    "near misses in force": ("<= 1 %", "-", "<= 25 %", "<= 6 %"),
    "near misses told or asked": ("<= 1 %", "-", "<= 40 %", "<= 35 %"),
    "needless lines, ordinary turns of the set": ("<= 1 %", "<= 1 %", "<= 35 %", "<= 20 %"),
    "needless lines, messages without a label": ("<= 1 %", "<= 1 %", "<= 35 %", "<= 20 %"),
    "needless lines, BEAM users": ("<= 1 %", "<= 1 %", "<= 35 %", "<= 20 %"),
    "needless lines, MultiChallenge users": ("<= 1 %", "<= 1 %", "<= 35 %", "<= 20 %"),
    "needless lines, LoCoMo": ("<= 1 %", "<= 1 %", "<= 35 %", "<= 20 %"),
    "LoCoMo sentences in force": ("<= 0.1 %",) * 4,
    "affirmations and refusals acted on or answered": ("100 %", "100 %", "100 %", ">= 95 %"),
    "  question open before the reply": ("100 %",) * 4,
    "  names: lifted or changed": ("100 %", "100 %", "100 %", ">= 95 %"),
    "  bare: nothing lifted, the way to consent said": ("100 %", "100 %", "100 %", ">= 95 %"),
    "  refuses: nothing lifted": ("100 %",) * 4,
    "  conditional: nothing lifted": ("100 %",) * 4,
    "  other: nothing lifted": ("100 %",) * 4,
    "marked words of others in force": ("0", "0", "0", "0"),
    "unmarked permissions of others in force": ("0", "0", "as own", "as own"),
    "unmarked restrictions of others in force": ("report",) * 4,
    "foreign language: in force": ("report",) * 4,
    "foreign language: in force or said": ("100 %",) * 4,
    "paste of 300: rules before it that are lost": ("0", "0", "0", "0"),
    "paste of 300: of it in force": (">= 20", ">= 20", "-", ">= 15"),
    "paste of 300: of it neither in force nor said": ("0", "0", "-", "-"),
    "instruction retention: in force at once": (">= 95 %", "-", "-", ">= 55 %"),
    "instruction retention: missed": ("<= 1 %", "-", "-", "<= 10 %"),
    "  of MultiChallenge, in force (any of its first message)": ("report", "-", "-", "report"),
    "  of MultiChallenge, missed": ("report", "-", "-", "report"),
    "  preferences (BEAM), in force": ("report", "-", "-", "report"),
    "  preferences (BEAM), missed": ("report", "-", "-", "report"),
    "chats: rules that must hold at the end": ("report",) * 4,
    "chats: rules that must be lifted at the end": ("report",) * 4,
    "chats: words that must never be in force, and are": ("0", "0", "-", "-"),
    "ordinary messages taken for a command": ("0", "0", "0", "0"),
}
"""Each figure, with its goals for perfect, credulous, lying and none."""

_GOAL_OF: Final = {
    "perfect": 0,
    "perfect at first": 0,
    "credulous": 1,
    "lying": 2,
    "lying at first": 2,
    "none": 3,
    "mute": 3,
    "mute at first": 3,
}


class Tally:
    """Counts of each figure by column and language, and what was noted of each miss."""

    def __init__(self) -> None:
        self.counts = defaultdict[tuple[str, str, str], list[int]](lambda: [0, 0])
        self.misses = defaultdict[tuple[str, str], list[str]](list)

    def count(
        self, figure: str, column: Column, row: Row, hit: bool, *, bad: bool = False, miss: str = ""
    ) -> None:
        """Count one case; `bad`: a hit is the miss."""
        pair = self.counts[figure, column.name, row["lang"]]
        pair[0] += hit
        pair[1] += 1
        if hit is bad:
            self.misses[figure, column.name].append(f"{row['id']}: {miss}")

    def lines(self) -> Iterator[str]:
        """The table."""
        for figure, goals in GOALS.items():
            names = [each.name for each in COLUMNS if self._sum(figure, each.name)[1]]
            if names:
                yield figure
            for name in names:
                shown = (
                    _share(*self._sum(figure, name, lang), width=18) for lang in ("en", "ja", "")
                )
                yield f"    {name:16}{''.join(shown)}  goal {goals[_GOAL_OF[name]]}"

    def missed(self) -> Iterator[str]:
        """What misses, by figure and column."""
        for figure in GOALS:
            for column in COLUMNS:
                for miss in self.misses[figure, column.name]:
                    yield f"{figure.strip()} | {column.name} | {miss}"

    def _sum(self, figure: str, name: str, lang: str = "") -> tuple[int, int]:
        pairs = [
            pair
            for (each, column, spoken), pair in self.counts.items()
            if each == figure and column == name and lang in ("", spoken)
        ]
        return sum(hits for hits, _ in pairs), sum(among for _, among in pairs)


def _share(hits: int, among: int, *, width: int) -> str:
    return f"{f'{hits}/{among} {hits / among:.1%}' if among else '-':>{width}}"


class Bench(NamedTuple):
    """Where to count, and whose turns."""

    tally: Tally
    column: Column

    def turn(self, row: Row, before: CommittedState, said: Said, *, may_lift: bool = False) -> Turn:
        """Take one turn; nothing is lifted in it but by a consent that names it."""
        turn = take(before, said, self.column)
        self.note(
            "rules lifted or altered without a consent that names them",
            row,
            turn,
            bool(turn.lost) and not may_lift,
            bad=True,
        )
        return turn

    def note(
        self, figure: str, row: Row, turn: Turn, hit: bool, *, bad: bool = False, about: str = ""
    ) -> None:
        """Count one case with what the turn made of it."""
        pins = [pin.text for pin in turn.added]
        asked = [(each.kind.value, each.rule_id, each.texts) for each in turn.asked]
        made = f"in force={pins} asked={asked} notes={turn.result.notes}"
        miss = f"{about or row.get('text', '')!r} {made}"
        self.tally.count(figure, self.column, row, hit, bad=bad, miss=miss[:900])

    def own(self, row: Row, turn: Turn, binds: Sequence[str]) -> None:
        """Count the user's own restrictions of a message."""
        gone = turn.silent(binds)
        for span in binds:
            is_out = any(covers(words, span) for words in turn.no_room) and not turn.holds(span)
            self.note(
                "own restrictions not kept for want of room, and said",
                row,
                turn,
                is_out,
                bad=True,
                about=span,
            )
            self.note(
                "own rules that disappear without a word",
                row,
                turn,
                span in gone,
                bad=True,
                about=span,
            )
            if is_out:
                continue
            self.note("own restrictions in force at once", row, turn, turn.holds(span), about=span)
            if row.get("shape") == "long_list":
                self.note(
                    "  of lists of 30 (what has no room is left out)",
                    row,
                    turn,
                    turn.holds(span),
                    about=span,
                )

    def permitted(self, row: Row, turn: Turn, permits: Sequence[str]) -> None:
        """Count permissions in force; words that were in force before are none."""
        for span in permits:
            is_new = any(covers(pin.text, span) for pin in turn.added)
            self.note(
                "permissions or orders in force without consent",
                row,
                turn,
                is_new,
                bad=True,
                about=span,
            )

    def unrelated(self, row: Row, turn: Turn, meant: set[str]) -> None:
        """Count questions about a rule that the message does not speak of."""
        others = {each.rule_id for each in turn.asked if each.rule_id} - meant
        self.note("unrelated rule proposed as a change", row, turn, bool(others), bad=True)

    def needless(self, figure: str, row: Row, turn: Turn) -> None:
        """Count a message without rules that got a line."""
        self.note(figure, row, turn, bool(turn.result.notes), bad=True)


def said_of(row: Row) -> Said:
    """The labelled message of a row."""
    rules = row.get("rules", ())
    return Said(
        row["text"],
        attachments=_attached(row),
        binds=tuple(row.get("binds", ())),
        permits=tuple(row.get("permits", ())),
        releases=tuple(rules[at] for at in row.get("releases", ())),
        amends=tuple((rules[at], row["new"]) for at in row.get("amends", ())),
        foreign=tuple(row.get("foreign", ())),
    )


def _attached(row: Row) -> tuple[Attachment, ...]:
    given = row.get("attachments", ())
    return tuple(Attachment(text=each["text"], source=each.get("source", "")) for each in given)


def _restriction(bench: Bench, row: Row, turn: Turn) -> None:
    bench.own(row, turn, row["binds"])
    bench.unrelated(row, turn, set())


def _permission(bench: Bench, row: Row, turn: Turn) -> None:
    bench.permitted(row, turn, row["permits"])
    bench.note(
        "own rules that disappear without a word",
        row,
        turn,
        bool(turn.silent(row["permits"])),
        bad=True,
    )
    bench.unrelated(row, turn, set())


def _near_miss(bench: Bench, row: Row, turn: Turn) -> None:
    pinned = bool(turn.added)
    bench.note("near misses in force", row, turn, pinned, bad=True)
    bench.note(
        "near misses told or asked", row, turn, bool(turn.result.notes) and not pinned, bad=True
    )


def _ordinary(bench: Bench, row: Row, turn: Turn) -> None:
    bench.needless("needless lines, ordinary turns of the set", row, turn)


def _change(bench: Bench, row: Row, turn: Turn) -> None:
    at = [*row.get("releases", ()), *row.get("amends", ())][0]
    pin = turn.before.pins[at]
    asked = [each for each in turn.asked if each.rule_id == pin.id]
    bench.unrelated(row, turn, {pin.id})
    notes = " ".join(turn.result.notes)
    said = pin.id in notes or covers(notes, row["text"])
    bench.note("changes that disappear without a word", row, turn, not said, bad=True)
    bench.note("changes asked about, of the rule that is meant", row, turn, bool(asked))
    is_shown = all(text in notes for text in (pin.text, row.get("new", "")))
    bench.note("  before and after shown in full", row, turn, is_shown)


def _rewording(bench: Bench, row: Row, turn: Turn) -> None:
    bench.note("rewordings that become a second rule", row, turn, bool(turn.added), bad=True)
    bench.unrelated(row, turn, set())
    if bench.column.name in ("perfect", "credulous"):
        proposed = bench.turn(row, turn.before, Said(row["text"], binds=(row["text"],)))
        bench.note(
            "  when the CCM proposes them as new", row, proposed, bool(proposed.added), bad=True
        )


def _second(bench: Bench, row: Row, turn: Turn) -> None:
    bench.own(row, turn, row["binds"])
    bench.unrelated(row, turn, set())
    about = {each.rule_id for each in turn.asked if each.rule_id}
    is_in = all(any(covers(pin.text, span) for pin in turn.added) for span in row["binds"])
    figure = "second rules in force, the first as it was, not asked about"
    bench.note(figure, row, turn, is_in and not about and not turn.lost)


def _others_marked(bench: Bench, row: Row, turn: Turn) -> None:
    for words in row["foreign"]:
        is_in = any(_is_of(pin.text, words) for pin in turn.added)
        bench.note("marked words of others in force", row, turn, is_in, bad=True, about=words)
    bench.own(row, turn, row.get("binds", ()))


def _is_of(rule: str, words: str) -> bool:
    return normalised(words) in normalised(rule) or normalised(rule) in normalised(words)


def _others_unmarked(bench: Bench, row: Row, turn: Turn) -> None:
    for words in row["foreign"]:
        kind = "permissions" if _PERMITS.search(words) else "restrictions"
        is_in = any(_is_of(pin.text, words) for pin in turn.added)
        bench.note(f"unmarked {kind} of others in force", row, turn, is_in, bad=True, about=words)


def _foreign_language(bench: Bench, row: Row, turn: Turn) -> None:
    is_in = bool(turn.added)
    bench.note("foreign language: in force", row, turn, is_in)
    bench.note("foreign language: in force or said", row, turn, is_in or bool(turn.result.notes))


_KINDS: Final[dict[str, Callable[[Bench, Row, Turn], None]]] = {
    "restriction": _restriction,
    "permission": _permission,
    "near_miss": _near_miss,
    "ordinary": _ordinary,
    "change": _change,
    "rewording": _rewording,
    "second": _second,
    "others_marked": _others_marked,
    "others_unmarked": _others_unmarked,
    "foreign_language": _foreign_language,
}


def count_row(bench: Bench, row: Row) -> None:
    """Count one row of the set."""
    if row["kind"] == "reply":
        _reply(bench, row)
    elif row["kind"] in _KINDS:
        before = state_of(row.get("rules") or STANDING[row["lang"]])
        turn = bench.turn(row, before, said_of(row))
        is_command = parse_command(row["text"]) is not None
        bench.note("ordinary messages taken for a command", row, turn, is_command, bad=True)
        _KINDS[row["kind"]](bench, row, turn)


def _reply(bench: Bench, row: Row) -> None:
    """A reply to the question that a perfect compressor's reply to the message before opened."""
    means = row["means"]
    asked = take(state_of(row["rules"]), _request(row), COLUMNS[0])
    pin = asked.before.pins[0]
    is_open = pin.id in {each.rule_id for each in asked.asked}
    bench.note("  question open before the reply", row, asked, is_open, about=row["said"])
    turn = bench.turn(row, asked.result.state, Said(row["text"]), may_lift=means == "names")
    lifted = pin.id in {each.id for each in turn.lost}
    if means == "names":
        right, figure = lifted, "  names: lifted or changed"
    elif means == "bare":
        right = not turn.lost and turn.shows_the_way
        figure = "  bare: nothing lifted, the way to consent said"
    else:
        right, figure = not turn.lost, f"  {means}: nothing lifted"
    about = f"{row['rules'][0]} | {row['said']} | {row['text']} | open={is_open}"
    bench.note(figure, row, turn, right, about=about)
    bench.note("affirmations and refusals acted on or answered", row, turn, right, about=about)


def _request(row: Row) -> Said:
    """What a careful reader makes of a request: another amount changes, all else releases."""
    rule, said = row["rules"][0], row["said"]
    old, new = _AMOUNT.search(rule), _AMOUNT.search(said)
    if new is None and not _CHANGES.search(said):
        return Said(said, releases=(rule,))
    if new and old and new[0] not in rule:
        return Said(said, amends=((rule, rule.replace(old[0], new[0])),))
    return Said(said, releases=(rule,)) if new and new[0] in rule else _with_exception(rule, said)


def _with_exception(rule: str, said: str) -> Said:
    return Said(said, amends=((rule, f"{rule.rstrip('.。')}: {said}"),))


def count_chat(bench: Bench, chat: Row) -> None:
    """Replay a chat and compare its end."""
    state, end = state_of([]), chat["end"]
    turn = None
    for number, spoken in enumerate(chat["turns"], start=1):
        row = {"id": f"{chat['id']}#{number}", "lang": chat["lang"], "text": spoken["user"]}
        said = _chat_words(spoken, end)
        turn = take(state, said, bench.column)
        wrong = [pin for pin in turn.lost if not _may_go(spoken, pin.text, end)]
        bench.note(
            "rules lifted or altered without a consent that names them",
            row,
            turn,
            bool(wrong),
            bad=True,
        )
        bench.own(row, turn, said.binds)
        bench.permitted(row, turn, said.permits)
        asked_for = [*said.releases, *(rule for rule, _ in said.amends)]
        meant = {pin.id for rule in asked_for if (pin := pin_of(rule, state.pins))}
        if state.pins:
            bench.unrelated(row, turn, meant)
        state = turn.result.state
    if turn is not None:
        _chat_end(bench, chat, turn)


def _chat_words(spoken: Row, end: Row) -> Said:
    rules = tuple(spoken.get("amends", ()))
    return Said(
        spoken["user"],
        attachments=_attached(spoken),
        binds=tuple(spoken.get("binds", ())),
        permits=tuple(spoken.get("permits", ())),
        releases=tuple(spoken.get("releases", ())),
        amends=tuple((rule, _new_wording(rule, spoken["user"], end)) for rule in rules),
        foreign=tuple(
            each
            for given in spoken.get("attachments", ())
            for each in split_sentences(given["text"])
        ),
    )


def _new_wording(rule: str, said: str, end: Row) -> str:
    """The new wording at the end of a chat, or the rule with what was said as its exception."""
    later = [words for words in end["in_force"] if pin_of(words, state_of([rule, said]).pins)]
    changed = [words for words in later if normalised(words) not in normalised(rule)]
    return f"{rule.rstrip('.。')}: {changed[-1] if changed else said}"


def _may_go(spoken: Row, rule: str, end: Row) -> bool:
    return spoken.get("means") == "names" or any(covers(rule, words) for words in end["lifted"])


def _chat_end(bench: Bench, chat: Row, turn: Turn) -> None:
    texts = [pin.text for pin in turn.pins]
    row = {"id": chat["id"], "lang": chat["lang"], "text": str(texts)}
    for words in chat["end"]["in_force"]:
        bench.note(
            "chats: rules that must hold at the end",
            row,
            turn,
            turn.holds(words),
            about=f"{words} | {texts}",
        )
    for words in chat["end"]["lifted"]:
        gone = not any(normalised(text) == normalised(words) for text in texts)
        bench.note(
            "chats: rules that must be lifted at the end",
            row,
            turn,
            gone,
            about=f"{words} | {texts}",
        )
    for words in chat["end"]["never"]:
        is_in = any(normalised(words) in normalised(text) for text in texts)
        bench.note(
            "chats: words that must never be in force, and are",
            row,
            turn,
            is_in,
            bad=True,
            about=f"{words} | {texts}",
        )


def count_labelled(bench: Bench, rows: Sequence[Row]) -> None:
    """Count messages with labelled spans; releases and changes are of rules that nobody knows."""
    for row in rows:
        spans = [(span["label"], span["quote"]) for span in row["spans"]]
        binds = tuple(quote for label, quote in spans if label == "binds")
        permits = tuple(quote for label, quote in spans if label == "permits")
        before = state_of(STANDING[row["lang"]])
        turn = bench.turn(row, before, Said(row["text"], binds=binds, permits=permits))
        bench.own(row, turn, binds)
        bench.permitted(row, turn, permits)
        bench.unrelated(row, turn, set())
        if not spans:
            bench.needless("needless lines, messages without a label", row, turn)


def count_paste(bench: Bench, rows: Sequence[Row]) -> None:
    """Count one paste of many rules in a language; in force are numbers, not shares."""
    for lang in ("en", "ja"):
        binds = (span for row in rows if row["lang"] == lang for span in _binds(row))
        lines = list(islice(dict.fromkeys(" ".join(each.split()) for each in binds), _PASTED))
        text = "\n".join(f"- {line}" for line in lines)
        row = {"id": f"paste-{lang}", "lang": lang, "text": text}
        turn = bench.turn(row, state_of(STANDING[lang]), Said(text, binds=tuple(lines)))
        gone = {each.id for each in turn.lost}
        for pin in turn.before.pins:
            bench.note(
                "paste of 300: rules before it that are lost", row, turn, pin.id in gone, bad=True
            )
        silent = turn.silent(lines)
        for line in lines:
            bench.note(
                "paste of 300: of it in force", row, turn, turn.holds(line), bad=True, about=line
            )
            bench.note(
                "paste of 300: of it neither in force nor said",
                row,
                turn,
                line in silent,
                bad=True,
                about=line,
            )


def _binds(row: Row) -> list[str]:
    if "spans" in row:
        return [span["quote"] for span in row["spans"] if span["label"] == "binds"]
    return list(row.get("binds", ()))


def count_beam(bench: Bench, chats: Sequence[Row]) -> None:
    """Count needless lines of BEAM's users, and what becomes of their instructions."""
    for chat in chats:
        probes = [
            (kind, probe)
            for kind in ("instruction_following", "preference_following")
            for probe in chat["probes"].get(kind, ())
        ]
        marked = {str(at) for _, probe in probes for at in probe["source_chat_ids"]}
        for at, spoken in chat["turns"].items():
            if spoken["role"] == "user" and at not in marked:
                row = {"id": f"{chat['chat']}#{at}", "lang": "en", "text": spoken["text"]}
                turn = bench.turn(row, state_of(STANDING["en"]), Said(spoken["text"]))
                bench.needless("needless lines, BEAM users", row, turn)
        if bench.column.name in _RETAINING:
            _instructions(bench, chat, probes)


def _instructions(bench: Bench, chat: Row, probes: Sequence[tuple[str, Row]]) -> None:
    seen = set[str]()
    for kind, probe in probes:
        words = probe.get("instruction_being_tested") or probe["preference_being_tested"]
        sources = [chat["turns"].get(str(at)) for at in probe["source_chat_ids"]]
        spoken = [each["text"] for each in sources if each and each["role"] == "user"]
        if words in seen or not spoken:
            continue
        seen.add(words)
        messages = [
            Said(text, binds=tuple(each for each in _sentences(text) if covers(each, words)))
            for text in spoken
        ]
        turns = [take(state_of(STANDING["en"]), said, bench.column) for said in messages]
        row = {"id": f"{chat['chat']}", "lang": "en", "text": words}
        turn = next((each for each in turns if each.holds(words)), turns[0])
        missed = all(each.silent([words]) for each in turns)
        if kind == "instruction_following":
            of = "instruction retention: "
            _retention(bench, of, row, turn, is_in=turn.holds(words), missed=missed)
        else:
            of = "  preferences (BEAM), "
            _retention(bench, of, row, turn, is_in=turn.holds(words), missed=missed)


def _retention(bench: Bench, of: str, row: Row, turn: Turn, *, is_in: bool, missed: bool) -> None:
    in_force = next(each for each in GOALS if each.startswith(f"{of}in force"))
    bench.note(in_force, row, turn, is_in)
    bench.note(f"{of}missed", row, turn, missed, bad=True)


def count_multichallenge(bench: Bench, conversations: Sequence[Row]) -> None:
    """Count needless lines after the first message, and what becomes of the first."""
    for each in conversations:
        spoken = [turn["content"] for turn in each["CONVERSATION"] if turn["role"] == "user"]
        for number, text in enumerate(spoken[1:], start=2):
            row = {"id": f"{each['QUESTION_ID']}#{number}", "lang": "en", "text": text}
            turn = bench.turn(row, state_of(STANDING["en"]), Said(text))
            bench.needless("needless lines, MultiChallenge users", row, turn)
        if bench.column.name in _RETAINING:
            row = {"id": each["QUESTION_ID"], "lang": "en", "text": spoken[0]}
            named = _most_alike(spoken[0], each["TARGET_QUESTION"])
            turn = bench.turn(row, state_of(STANDING["en"]), Said(spoken[0], binds=(named,)))
            missed = not turn.result.notes
            for of in ("instruction retention: ", "  of MultiChallenge, "):
                _retention(bench, of, row, turn, is_in=bool(turn.added), missed=missed)


def _sentences(text: str) -> list[str]:
    return [each.text for each in own_words(text).sentences]


def _most_alike(text: str, label: str) -> str:
    """The sentence of a message that is most like the label of its instruction, in letters.

    MultiChallenge labels an instruction by a question about the answer, not by its sentence.
    """
    wanted = _threes(label)
    return max(_sentences(text), key=lambda each: len(_threes(each) & wanted))


def _threes(text: str) -> set[str]:
    plain = normalised(text)
    return {plain[at : at + 3] for at in range(len(plain) - 2)}


def count_locomo(bench: Bench, samples: Sequence[Row]) -> None:
    """Count needless lines and rules in chat between people."""
    for sample in samples:
        for name, session in sample["conversation"].items():
            for said in session if _SESSION.fullmatch(name) else ():
                row = {
                    "id": f"{sample['sample_id']}#{said['dia_id']}",
                    "lang": "en",
                    "text": said["text"],
                }
                turn = bench.turn(row, state_of(STANDING["en"]), Said(said["text"]))
                bench.needless("needless lines, LoCoMo", row, turn)
                sentences = len(split_sentences(said["text"]))
                for at in range(sentences):
                    is_in = at < len(turn.added)
                    bench.note("LoCoMo sentences in force", row, turn, is_in, bad=True)


def read_half(path: Path, half: str) -> list[Row]:
    """The rows of a file whose number is odd or even, or all."""
    rows = list[Row]()
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        number = _NUMBER.search(row["id"])
        is_odd = number is not None and int(number[0]) % 2 == 1
        if half == "all" or is_odd is (half == "odd"):
            rows.append(row)
    return rows


def run(options: argparse.Namespace) -> Tally:
    """All counts that the options name."""
    tally = Tally()
    rows = list[Row]()
    chats = list[Row]()
    for lang in ("en", "ja") if options.sets else ():
        rows += read_half(options.sets / f"rows-{lang}.jsonl", options.half)
        chats += read_half(options.sets / f"chats-{lang}.jsonl", options.half)
    labelled = _lines(options.labelled)
    beam, locomo = _whole(options.beam), _whole(options.locomo)
    challenges = _lines(options.multichallenge)
    for column in COLUMNS:
        is_adaptive = options.compress == "adaptive"
        bench = Bench(tally, column._replace(is_adaptive=is_adaptive))
        for row in rows:
            count_row(bench, row)
        for chat in chats:
            count_chat(bench, chat)
        count_labelled(bench, labelled)
        if labelled:
            count_paste(bench, [*labelled, *rows])
        count_beam(bench, beam)
        count_multichallenge(bench, challenges)
        count_locomo(bench, locomo)
    return tally


def _lines(path: Path | None) -> list[Row]:
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    return [json.loads(line) for line in lines]


def _whole(path: Path | None) -> list[Row]:
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8")) if path else []
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("sets", "labelled", "beam", "multichallenge", "locomo"):
        parser.add_argument(f"--{name}", type=Path, default=None)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--compress", choices=("every", "adaptive"), default="every")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    tally = run(options)
    print(f"{'':19}{'en':>18}{'ja':>18}{'both':>18}")
    for line in tally.lines():
        print(line)
    if options.verbose and options.half == "odd":
        print("\n".join(tally.missed()))


if __name__ == "__main__":
    main()
