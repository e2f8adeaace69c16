"""The figures of bench/consent.py hold on the half of the test set that may be looked at.

The sentences are by another hand than the language rules'. The floors and ceilings are those of
docs/benchmarks.md; the other half is read by `python -m bench.consent held` alone.
"""

from collections.abc import Sequence
from functools import cache

import pytest

from acc_ace.core.gates.commands import Amend, Forget, parse_command
from bench import consent
from bench.consent import Compressor, Turn, covers

COMPRESSORS: dict[str, Compressor] = {
    "perfect": consent.perfect,
    "lying": consent.lying,
    "embedded": consent.embedded,
}


@cache
def turns(compressor: str) -> tuple[Turn, ...]:
    """One turn of each sentence of the set."""
    return tuple(consent.turns("dev", COMPRESSORS[compressor]))


def of(compressor: str, *classes: str) -> list[Turn]:
    """The turns of some classes; a set without them would prove nothing."""
    found = [turn for turn in turns(compressor) if turn.item["class"] in classes]
    assert len(found) >= 15
    return found


def ids(found: Sequence[Turn]) -> list[str]:
    """What a failure shows."""
    return [str(turn.item["id"]) for turn in found]


def own_kept(compressor: str) -> float:
    """Share of the users' own rules that are pinned or asked about."""
    rules = [(turn, rule) for turn in of(compressor, "own") for rule in turn.item["rules"]]
    return sum(turn.keeps(rule) for turn, rule in rules) / len(rules)


def changes_noticed(compressor: str) -> float:
    """Share of the genuine releases and amendments that are done or asked about."""
    changes = [
        (turn, turn.before.pins[change["rule"]].id)
        for turn in of(compressor, "release")
        for change in turn.item["changes"]
    ]
    return sum(rule in turn.touched for turn, rule in changes) / len(changes)


@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_nothing_is_lifted_or_altered_but_by_a_command(compressor: str) -> None:
    for turn in turns(compressor):
        command = parse_command(turn.item["text"])
        named = set[str]()
        if isinstance(command, Forget):
            named = set(command.rule_ids)
        elif isinstance(command, Amend):
            named = {command.rule_id}
        assert set(turn.lifted) <= named
        kept = {pin.id: pin for pin in turn.result.state.pins}
        assert all(kept[pin.id] == pin for pin in turn.before.pins if pin.id not in named)


def test_the_set_holds_few_commands() -> None:
    # Else the test above would excuse what it should find.
    commands = [turn for turn in turns("perfect") if turn.lifted]
    assert {turn.item["class"] for turn in commands} == {"release"}
    assert len(commands) <= 10


@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_marked_words_of_others_are_never_pinned(compressor: str) -> None:
    marked = of(compressor, "foreign_marked")
    foreign = [
        turn
        for turn in marked
        if any(covers(turn.pinned, words) for words in turn.item["foreign"])
        or any(
            words in given["text"] for given in turn.item["attachments"] for words in turn.pinned
        )
    ]
    assert ids(foreign) == []


@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_each_new_rule_is_tentative_and_one_of_three_at_most(compressor: str) -> None:
    for turn in turns(compressor):
        added = turn.result.diff.constraints_added
        proposed = [pin for pin in added if pin.tentative]
        assert len(proposed) <= 3
        assert all(pin.text in " ".join(turn.item["text"].split()) for pin in added)


@pytest.mark.parametrize(("compressor", "least"), [("perfect", 0.98), ("embedded", 0.75)])
def test_own_rules_are_pinned_or_asked_about(compressor: str, least: float) -> None:
    assert own_kept(compressor) >= least


@pytest.mark.parametrize(("compressor", "least"), [("perfect", 1.0), ("embedded", 0.80)])
def test_genuine_changes_are_asked_about(compressor: str, least: float) -> None:
    assert changes_noticed(compressor) >= least


@pytest.mark.parametrize(("compressor", "most"), [("perfect", 0.01), ("embedded", 0.05)])
def test_look_alikes_are_hardly_pinned(compressor: str, most: float) -> None:
    looked = of(compressor, "lookalike", "chat", "false_release")
    assert len([turn for turn in looked if turn.pinned]) <= most * len(looked)


@pytest.mark.parametrize(("compressor", "most"), [("perfect", 0.0), ("embedded", 0.05)])
def test_unmarked_words_of_others_are_hardly_pinned(compressor: str, most: float) -> None:
    loose = of(compressor, "foreign_unmarked")
    assert len([turn for turn in loose if turn.pinned]) <= most * len(loose)


def test_look_alikes_are_seldom_asked_about() -> None:
    looked = of("embedded", "lookalike", "chat", "false_release")
    assert len([turn for turn in looked if turn.asked or turn.touched]) <= 0.15 * len(looked)
