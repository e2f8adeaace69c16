"""The turns of one invocation, which a person who answers its calls one by one takes one by one."""

from collections.abc import Iterator, Sequence

from acc_ace.schemas.interaction import Interaction
from acc_ace.schemas.past_turn import PastTurn, Utterance


def later_turn(evidence_id: str) -> tuple[str, int] | None:
    """The invocation and the version that name the evidence of a turn behind its first one.

    None for the evidence of a first turn, which has the name of the invocation alone.
    """
    name, _, version = evidence_id.rpartition("/")
    return (name, int(version)) if name and version.isdecimal() else None


def own_words(whole: PastTurn, turns: Sequence[Interaction]) -> Iterator[PastTurn]:
    """What was said in each turn of an invocation, under the name of its evidence, in order.

    A turn ends with its answer. Behind one whose answer is not found, nobody can tell whose words
    are whose: those turns have what their evidence says.
    """
    left: Sequence[Utterance] | None = whole.said
    for turn in turns:
        end = _end(left, turn) if left is not None else None
        if left is None or end is None:
            said, left, at = _of_evidence(turn), None, turn.created_at
        else:
            said, left, at = list(left[:end]), left[end:], whole.at
        yield PastTurn(invocation_id=turn.invocation_id, at=at, said=said)


def ends_with_answer(whole: PastTurn, turn: Interaction) -> bool:
    """Whether the answer of a turn is the last that was said in its invocation."""
    return _end(whole.said, turn) == len(whole.said)


def _end(said: Sequence[Utterance], turn: Interaction) -> int | None:
    answer = turn.decision.final_answer.strip() if turn.decision else ""
    for number, part in enumerate(said, start=1):
        if answer and part.speaker not in {"user", "tool"} and part.text.strip() == answer:
            return number
    return None


def _of_evidence(turn: Interaction) -> list[Utterance]:
    answer = turn.decision.final_answer if turn.decision else ""
    return [
        Utterance(speaker="user", text=turn.input.text),
        Utterance(speaker="agent", text=answer),
    ]
