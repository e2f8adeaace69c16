"""The dialogues of `acc-ace eval decay`: fields get values, and are asked for."""

import re
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.ext.lab.dialogues.decay import decay_dialogues
from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Exchange, Inquiry, has_fact
from tests.fakes.extensions import needs

pytestmark = needs("lab")

STATEMENT = r"(?:The|From now on the) (\w+) of project (\w+) is (.+)\."
QUESTION = r"What is the (\w+) of project (\w+) now\?"

SEEDS = st.integers(0, 10_000)
TURNS = st.integers(1, 120)


def inquiries(dialogue: Dialogue) -> Iterator[tuple[Inquiry, list[str], int]]:
    """Each with the values that its field had so far, oldest first, and the turns before it."""
    values: dict[tuple[str, ...], list[str]] = {}
    turns = 0
    for step in dialogue.steps:
        if isinstance(step, Exchange):
            turns += 1
            if match := re.fullmatch(STATEMENT, step.user):
                values.setdefault(match.groups()[:2], []).append(match[3])
            continue
        match = re.fullmatch(QUESTION, step.ask)
        assert match, step.ask
        assert match.groups() in values, f"{step.ask} was never said"
        yield step, values[match.groups()], turns


@given(count=st.integers(1, 4), turns=TURNS, seed=SEEDS)
def test_the_same_seed_gives_the_same_dialogues(count: int, turns: int, seed: int) -> None:
    first = decay_dialogues(count, turns, seed)
    assert decay_dialogues(count, turns, seed) == first
    assert len({dialogue.name for dialogue in first}) == count
    for dialogue in first:
        assert sum(isinstance(step, Exchange) for step in dialogue.steps) == turns


@given(seed=SEEDS, turns=st.integers(50, 120))
def test_dialogues_and_seeds_differ_from_each_other(seed: int, turns: int) -> None:
    one, two = decay_dialogues(2, turns, seed)
    [other] = decay_dialogues(1, turns, seed + 1)
    assert one.steps != two.steps
    assert one.steps != other.steps


@given(seed=SEEDS, turns=TURNS)
def test_what_is_asked_for_was_said_before_and_the_newest_value_counts(
    seed: int, turns: int
) -> None:
    [dialogue] = decay_dialogues(1, turns, seed)
    for inquiry, values, _ in inquiries(dialogue):
        assert inquiry.facts == (values[-1],)
        assert not inquiry.is_kept
        assert any(values[-1] in line for line in inquiry.rubric)


@given(seed=SEEDS, turns=TURNS)
def test_outdated_values_are_earlier_ones_and_never_the_fact(seed: int, turns: int) -> None:
    [dialogue] = decay_dialogues(1, turns, seed)
    for inquiry, values, _ in inquiries(dialogue):
        [fact] = inquiry.facts
        assert set(inquiry.outdated) == {*values} - {fact}
        for value in inquiry.outdated:
            assert not has_fact(value, fact)
            assert not has_fact(fact, value)


@given(seed=SEEDS, turns=TURNS)
def test_no_question_has_its_own_answer(seed: int, turns: int) -> None:
    [dialogue] = decay_dialogues(1, turns, seed)
    for inquiry, values, _ in inquiries(dialogue):
        assert not any(has_fact(inquiry.ask, value) for value in values)


@given(seed=SEEDS, turns=TURNS)
def test_at_the_end_every_field_is_asked_for_once(seed: int, turns: int) -> None:
    [dialogue] = decay_dialogues(1, turns, seed)
    last = [inquiry for inquiry, _, before in inquiries(dialogue) if before == turns]
    fields = {
        match.groups()[:2]
        for step in dialogue.steps
        if isinstance(step, Exchange) and (match := re.fullmatch(STATEMENT, step.user))
    }
    assert len(last) == len(fields) > 0
    assert len({inquiry.ask for inquiry in last}) == len(last)
    names = [inquiry.name for inquiry, _, _ in inquiries(dialogue)]
    assert len({*names}) == len(names)


@given(seed=SEEDS)
def test_in_a_long_dialogue_questions_come_in_between_and_values_change(seed: int) -> None:
    [dialogue] = decay_dialogues(1, 120, seed)
    every = [*inquiries(dialogue)]
    assert len({before for _, _, before in every}) >= 5
    assert any(inquiry.outdated for inquiry, _, _ in every)


@given(seed=SEEDS)
def test_what_is_asked_for_was_not_said_of_another_field_since(seed: int) -> None:
    """Else a request shows the fact though the memory has forgotten whose it is."""
    [dialogue] = decay_dialogues(1, 50, seed)
    since: list[str] = []
    for step in dialogue.steps:
        if isinstance(step, Exchange):
            since.append(step.user)
            continue
        field = re.fullmatch(QUESTION, step.ask)
        assert field
        own = f"{field[1]} of project {field[2]} is"
        last = max(place for place, text in enumerate(since) if own in text)
        assert not any(has_fact(text, step.facts[0]) for text in since[last + 1 :])
