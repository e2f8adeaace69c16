"""Copy the text of old events to long-term memory before the events are deleted.

An invocation may span several turns: a person may answer its calls one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from acc_ace.container import Container
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.interaction import Interaction, Outcome
from acc_ace.core.schemas.session import PastTurn, Utterance
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.memory.turn_artifacts import past_turn_artifacts


def later_turn(evidence_id: str) -> tuple[str, int] | None:
    """Invocation id and version in the evidence key of a later turn of an invocation.

    None for a first turn, whose key is the invocation id alone.
    """
    name, _, version = evidence_id.rpartition("/")
    return (name, int(version)) if name and version.isdecimal() else None


def messages_by_turn(whole: PastTurn, turns: Sequence[Interaction]) -> Iterator[PastTurn]:
    """Split an invocation's messages into its turns, in order, under their evidence keys.

    A turn ends with its answer. From a turn whose answer is not found, messages cannot be
    assigned: that turn and later ones use the text of their evidence.
    """
    left: Sequence[Utterance] | None = whole.said
    for turn in turns:
        end = _end(left, turn) if left is not None else None
        if left is None or end is None:
            messages, left, at = _of_evidence(turn), None, turn.created_at
        else:
            messages, left, at = list(left[:end]), left[end:], whole.at
        yield PastTurn(invocation_id=turn.invocation_id, at=at, said=messages)


def ends_with_answer(whole: PastTurn, turn: Interaction) -> bool:
    """Whether a turn's answer is the last message of its invocation."""
    return _end(whole.said, turn) == len(whole.said)


def _end(messages: Sequence[Utterance], turn: Interaction) -> int | None:
    answer = turn.answer.strip()
    for number, part in enumerate(messages, start=1):
        if answer and part.speaker not in {"user", "tool"} and part.text.strip() == answer:
            return number
    return None


def _of_evidence(turn: Interaction) -> list[Utterance]:
    return [
        Utterance(speaker="user", text=turn.input.text),
        Utterance(speaker="agent", text=turn.answer),
    ]


_PAGE = 50


async def offload_events(
    container: Container, key: SessionKey, turns: Sequence[PastTurn]
) -> Sequence[Artifact]:
    """Write turns to the artifact store; idempotent.

    A turn with evidence got its artifacts when it was answered, so it is written again only when
    those were truncated, or when it waited for a person: its evidence then has the person's reply
    in place of the first message. If an invocation has several answered turns, each gets its own
    messages; a failed turn gets none. Undone turns stay out of memory; their evidence is kept.
    Raises StoreError.
    """
    artifacts: list[Artifact] = []
    limit = container.settings.limits.tool_result_tokens
    for turn, known in await _known(container, key, turns):
        if not known:
            artifacts += past_turn_artifacts(key, turn, max_tokens=limit)
        reported = [evidence for evidence in known if evidence.outcome is not Outcome.FAILED]
        words = messages_by_turn(turn, reported) if len(known) > 1 else [turn] * len(reported)
        for own, evidence in zip(words, reported, strict=True):
            artifacts += _artifacts(key, own, evidence, limit)
    if artifacts:
        await container.artifacts.add(artifacts)
    return artifacts


async def _known(
    container: Container, key: SessionKey, turns: Sequence[PastTurn]
) -> list[tuple[PastTurn, list[Interaction]]]:
    """Each invocation with the evidence of its turns, oldest first; empty when there is none."""
    runs = [await container.evidence.find(key, turn.invocation_id) for turn in turns]
    # A turn that paused and was never answered has no artifacts.
    first = [None if each and each.outcome is Outcome.PAUSED else each for each in runs]
    resumed = {
        known.invocation_id: known.turn
        for turn, known in zip(turns, first, strict=True)
        if known is not None and _may_have_later_turns(known, turn)
    }
    later = await _later(container, key, resumed) if resumed else {}
    return [
        (turn, [known, *later.get(known.invocation_id, ())] if known is not None else [])
        for turn, known in zip(turns, first, strict=True)
    ]


def _may_have_later_turns(known: Interaction, turn: PastTurn) -> bool:
    """Whether the invocation may have later turns: its first answer is not its last message."""
    return not ends_with_answer(turn, known)


async def _later(
    container: Container, key: SessionKey, started: Mapping[str, int]
) -> dict[str, list[Interaction]]:
    """Later turns of invocations, oldest first; `started` has each first turn's number."""
    runs: dict[str, list[tuple[int, Interaction]]] = {name: [] for name in started}
    oldest = min(started.values())
    before: str | None = None
    while page := await container.evidence.list(key, limit=_PAGE, before=before):
        for evidence in page:
            later = later_turn(evidence.invocation_id)
            if later is not None and later[0] in runs:
                runs[later[0]].append((later[1], evidence))
        if page[-1].turn < oldest:
            break
        before = page[-1].invocation_id
    return {
        name: [evidence for _, evidence in sorted(each, key=itemgetter(0))]
        for name, each in runs.items()
    }


def _artifacts(
    key: SessionKey, turn: PastTurn, known: Interaction, limit: int
) -> Sequence[Artifact]:
    if known.outcome is not Outcome.ANSWERED:
        return ()
    if _holds_request(known, turn) and all(
        estimate_tokens(part.text) < limit // 2 for part in turn.said
    ):
        return ()
    return past_turn_artifacts(key, turn, max_tokens=limit, number=known.turn)


def _holds_request(known: Interaction, turn: PastTurn) -> bool:
    """Whether the evidence has the user's messages; a resumed turn's has only the reply."""
    return all(part.text in known.input.text for part in turn.said if part.speaker == "user")
