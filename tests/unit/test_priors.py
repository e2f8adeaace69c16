"""The place of a turn says something about its relevance."""

from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.core.text.search_terms import index_terms
from acc_ace.memory.priors import TurnPosition, ends_asking, priors, speaker_terms
from tests.fakes.tables import each_case

PLAIN = RecallWeights(session=0, speaker=0)


def gains(
    places: list[TurnPosition], scores: list[float], weights: RecallWeights = PLAIN
) -> list[float]:
    return [round(prior.score, 6) for prior in priors(places, scores, frozenset(), weights)]


def talk(*asking: bool) -> list[TurnPosition]:
    return [TurnPosition("s", turn, asks=asks) for turn, asks in enumerate(asking)]


def test_the_answer_to_a_question_gets_more_than_the_turn_before_it() -> None:
    before, _, answer = gains(talk(False, True, False), [0, 1, 0])
    assert (before, answer) == (0.5, 0.7)


def test_behind_a_statement_both_neighbours_get_the_same() -> None:
    before, _, after = gains(talk(False, False, False), [0, 1, 0])
    assert before == after == 0.5


def test_a_turn_two_away_from_a_question_is_no_answer() -> None:
    assert gains(talk(True, False, False), [1, 0, 0])[2] == 0.25


def test_the_answers_share_can_be_switched_off() -> None:
    off = PLAIN.model_copy(update={"answer": 0})
    assert gains(talk(True, False), [1, 0], off) == [0, 0.5]


def test_the_answers_share_is_never_less_than_a_neighbours() -> None:
    low = PLAIN.model_copy(update={"answer": 0.1})
    assert gains(talk(True, False), [1, 0], low) == [0, 0.5]


def test_an_exchange_gets_little_of_its_neighbours_as_it_holds_its_answer_already() -> None:
    exchanges = [place._replace(is_exchange=True) for place in talk(True, False, False)]
    assert gains(exchanges, [1, 0, 0]) == [0, 0.28, 0.04]


@each_case
def test_a_text_whose_last_line_asks_is_a_question(text: str) -> None:
    assert ends_asking(text)


@each_case
def test_a_text_whose_last_line_tells_is_no_question(text: str) -> None:
    assert not ends_asking(text)


def names_the_speaker(content: str, asked: str, weights: RecallWeights | None = None) -> bool:
    place = TurnPosition("s", 1, speaker=speaker_terms(content))
    said = frozenset(index_terms(asked).split())
    (prior,) = priors([place], [1.0], said, weights or RecallWeights())
    return prior.named


@each_case
def test_who_is_asked_about_is_a_named_speaker(asked: str) -> None:
    assert names_the_speaker("Mina: I adopted a cat.", asked)


@each_case
def test_the_labels_that_turns_are_stored_with_name_no_speaker(content: str, asked: str) -> None:
    assert not names_the_speaker(content, asked)


def test_without_a_weight_no_speaker_is_named() -> None:
    off = RecallWeights(speaker=0)
    assert not names_the_speaker("Mina: I adopted a cat.", "What did Mina adopt?", off)
