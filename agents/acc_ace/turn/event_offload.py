"""The words of old events go to long-term memory before the events are deleted.

An invocation may hold several turns: a person may answer its calls one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from acc_ace.container import Container
from acc_ace.memory.turn_artifacts import past_turn_artifacts
from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.interaction import Interaction, Outcome
from acc_ace.schemas.session import PastTurn, Utterance
from acc_ace.text.tokens import estimate_tokens


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


_PAGE = 50


async def offload_events(
    container: Container, key: SessionKey, turns: Sequence[PastTurn]
) -> Sequence[Artifact]:
    """Write turns to the artifact store; the same turns again give the same artifacts.

    A turn that is known as evidence has left its artifacts when it was answered, so only what
    those had to cut is written again, whole; so is one that waited for a person, since its
    evidence has the person's answer in the place of the words that began it. Where an invocation
    has several answered turns, each has its own words; a failed one has none. A turn that was
    undone stays out of memory; its evidence is kept. Raises StoreError.
    """
    artifacts: list[Artifact] = []
    limit = container.settings.limits.tool_result_tokens
    for turn, known in await _known(container, key, turns):
        if not known:
            artifacts += past_turn_artifacts(key, turn, max_tokens=limit)
        reported = [evidence for evidence in known if evidence.outcome is not Outcome.FAILED]
        words = own_words(turn, reported) if len(known) > 1 else [turn] * len(reported)
        for own, evidence in zip(words, reported, strict=True):
            artifacts += _artifacts(key, own, evidence, limit)
    if artifacts:
        await container.artifacts.add(artifacts)
    return artifacts


async def _known(
    container: Container, key: SessionKey, turns: Sequence[PastTurn]
) -> list[tuple[PastTurn, list[Interaction]]]:
    """Each invocation with the evidence of its turns, oldest first; none where it is unknown."""
    found = [await container.evidence.find(key, turn.invocation_id) for turn in turns]
    # One that waited and was never answered has left no artifact.
    first = [None if each and each.outcome is Outcome.PAUSED else each for each in found]
    resumed = {
        known.invocation_id: known.turn
        for turn, known in zip(turns, first, strict=True)
        if known is not None and _may_have_gone_on(known, turn)
    }
    later = await _later(container, key, resumed) if resumed else {}
    return [
        (turn, [known, *later.get(known.invocation_id, ())] if known is not None else [])
        for turn, known in zip(turns, first, strict=True)
    ]


def _may_have_gone_on(known: Interaction, turn: PastTurn) -> bool:
    """Whether a person may have answered a call of it after its first turn, or that one failed."""
    return not ends_with_answer(turn, known)


async def _later(
    container: Container, key: SessionKey, started: Mapping[str, int]
) -> dict[str, list[Interaction]]:
    """The turns of invocations behind the first one, whose number is known; oldest first."""
    found: dict[str, list[tuple[int, Interaction]]] = {name: [] for name in started}
    oldest = min(started.values())
    before: str | None = None
    while page := await container.evidence.list(key, limit=_PAGE, before=before):
        for evidence in page:
            later = later_turn(evidence.invocation_id)
            if later is not None and later[0] in found:
                found[later[0]].append((later[1], evidence))
        if page[-1].turn < oldest:
            break
        before = page[-1].invocation_id
    return {
        name: [evidence for _, evidence in sorted(each, key=itemgetter(0))]
        for name, each in found.items()
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
    """Whether the evidence has what the user said; that of a resumed turn has only the answer."""
    return all(part.text in known.input.text for part in turn.said if part.speaker == "user")
