"""What is kept of a turn beside its evidence: requests and replies of models, and the candidates.

The words are those that were sent, redacted; nothing is rendered again to be shown.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from acc_ace.core.gates.references import artifact_ids
from acc_ace.core.schemas.artifact import ArtifactKind
from acc_ace.core.schemas.cost import PriceTable
from acc_ace.core.schemas.report import NANO, TokenUse
from acc_ace.core.schemas.trace import ModelCall, RecalledCandidate, RequestPart, TurnTrace
from acc_ace.core.text.redaction import redact, redacted_parts
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.turn.turn_record import TurnRecord

PART_CHARS: Final = 32_000
"""Maximum characters kept of a part or a reply."""


def turn_trace(record: TurnRecord, calls: Sequence[ModelCall], prices: PriceTable) -> TurnTrace:
    """The calls of a run that are not stored yet, redacted and cut; first the candidates too."""
    observer = record.observer
    begun = observer.stored_calls
    return TurnTrace(
        turn=record.number,
        invocation_id=record.start.evidence_id,
        run=f"{observer.run}/{begun}" if begun else observer.run,
        calls=tuple(_kept(calls, prices, observer.redacted)),
        candidates=() if begun else tuple(_candidates(record)),
    )


def _kept(
    calls: Sequence[ModelCall], prices: PriceTable, redacted: dict[RequestPart, RequestPart]
) -> Iterator[ModelCall]:
    """The calls as they are kept. A tool loop sends most of its parts again: each is read once."""
    replies = [RequestPart(kind="reply", text=call.reply) for call in calls]
    sent = dict.fromkeys([*chain.from_iterable(call.parts for call in calls), *replies])
    new = [part for part in sent if part not in redacted]
    redacted.update(zip(new, redacted_parts(new, PART_CHARS), strict=True))
    for call, reply in zip(calls, replies, strict=True):
        update = {
            "parts": tuple(map(redacted.__getitem__, call.parts)),
            "reply": redacted[reply].text,
            "price": prices.price(call.model),
        }
        yield call.model_copy(update=update)


def _candidates(record: TurnRecord) -> Iterator[RecalledCandidate]:
    verdicts = {each.artifact_id: each for each in record.qualification.verdicts}
    state = record.entry.state.ccs.retrieved_artifacts if record.entry else []
    referred = artifact_ids(state)
    for item in record.recalled.candidates:
        artifact = item.artifact
        verdict = verdicts.get(artifact.artifact_id)
        yield RecalledCandidate(
            artifact_id=artifact.artifact_id,
            kind=artifact.kind,
            source=artifact.source,
            score=round(item.score, 4),
            why=tuple(item.why),
            ok=verdict.ok if verdict else None,
            reason=verdict.reason if verdict else "",
            detail=redact(verdict.detail) if verdict else "",
            in_state=artifact.artifact_id in referred,
        )
    for verdict in record.start.known:
        yield RecalledCandidate(
            artifact_id=verdict.artifact_id,
            kind=ArtifactKind.NOTE,
            source="note of an earlier session",
            score=0.0,
            ok=verdict.ok,
            reason=verdict.reason,
            detail=redact(verdict.detail),
            in_state=verdict.artifact_id in referred,
        )


class PartCost(NamedTuple):
    """What a part of a request took; `usd` is None where the price is unknown."""

    tokens: int
    cached: int
    usd: float | None


def part_costs(call: ModelCall) -> list[PartCost]:
    """The provider's count of the prompt, shared among the parts by their estimated sizes.

    Its cached tokens are the first ones: providers cache prefixes.
    """
    sizes = [_estimate(part) for part in call.parts]
    whole = sum(sizes)
    counted = call.tokens.input or whole
    ends = [round(end * counted / max(whole, 1)) for end in accumulate(sizes)]
    costs = []
    for start, end in zip([0, *ends], ends, strict=False):
        cached = max(0, min(end, call.tokens.cached) - start)
        costs.append(PartCost(end - start, cached, _usd(call, input=end - start, cached=cached)))
    return costs


def reply_usd(call: ModelCall) -> float | None:
    """What the reply cost, thoughts included; None where the price is unknown."""
    return _usd(call, output=call.tokens.output, thinking=call.tokens.thinking)


def _usd(call: ModelCall, **counts: int) -> float | None:
    return call.price.nano(TokenUse.model_validate(counts)) / NANO if call.price else None


def _estimate(part: RequestPart) -> int:
    tokens = estimate_tokens(part.text)
    return round(tokens * (1 + part.cut / len(part.text))) if part.text else part.cut // 4


def joined(traces: Sequence[TurnTrace]) -> TurnTrace:
    """The runs of one turn as one; raises IndexError without any."""
    update = {
        "calls": tuple(call for trace in traces for call in trace.calls),
        "candidates": tuple(each for trace in traces for each in trace.candidates),
    }
    return traces[-1].model_copy(update=update)
