"""What killed turns leave, held against the claim: CCS_{t-1} without a trace, or all of CCS_t."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from google.adk.events import Event
from google.adk.sessions import BaseSessionService

from acc_ace import Container, build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.memory.artifact_store import ArtifactListing
from config import Settings
from schemas.artifact import Artifact
from schemas.base import SessionKey
from schemas.commit import CommitKind, JournalEntry
from schemas.interaction import Interaction, Outcome, ToolStart
from tests.durability.slow_model import answer, server, words

_ALL = 10_000
_LOST = "lost:"


@dataclass(frozen=True)
class Left:
    """What there is of a session: the number of turns, and calls whose outcome is unknown."""

    turns: int = 0
    unsettled: tuple[ToolStart, ...] = ()
    problems: list[str] = field(default_factory=list)


async def look(
    settings: Settings, key: SessionKey, acts: Path, before: Left, *, ours: bool
) -> Left:
    """All that is left of a session whose process was killed, and what is wrong with it.

    `before` is what was left by the kill before this one; `acts` is what tools have done. Events
    are looked at where the session service is `ours`.
    """
    container = build_container(settings)
    sessions = open_session_service(container)
    try:
        entries = list(await container.journal.history(key, limit=_ALL))[::-1]
        evidence = list(await container.evidence.list(key, limit=_ALL))[::-1]
        unsettled = tuple(await container.tool_starts.unsettled(key))
        found = _journal(entries) + _evidence(entries, evidence)
        found += _artifacts(await _all_artifacts(container, key), entries, evidence)
        found += _calls(entries, evidence, unsettled, before)
        found += _acts(_lines(acts), evidence, unsettled)
        if ours:
            found += await _events(sessions, key, entries)
        return Left(len(entries), unsettled, found)
    finally:
        await sessions.close()
        await container.close()


def _journal(entries: Sequence[JournalEntry]) -> list[str]:
    found = []
    numbers = [(entry.state.version, entry.state.turn) for entry in entries]
    if numbers != [(number, number) for number in range(1, len(entries) + 1)]:
        found.append(f"versions and turns {numbers}")
    if any(entry.kind is not CommitKind.COMMIT for entry in entries):
        found.append(f"kinds {[entry.kind for entry in entries]}")
    return found


def _evidence(entries: Sequence[JournalEntry], evidence: Sequence[Interaction]) -> list[str]:
    """Each turn of the journal is one answered turn, with its words, its call and its answer."""
    found = []
    answered = [turn for turn in evidence if turn.outcome is Outcome.ANSWERED]
    if [turn.ccs_version for turn in answered] != [entry.state.version for entry in entries]:
        found.append(f"{len(answered)} answers of {len(entries)} turns")
    if [turn.invocation_id for turn in answered] != [entry.invocation_id for entry in entries]:
        found.append("evidence and journal name other invocations")
    for number, turn in enumerate(answered):
        kept = (
            turn.input.text,
            [call.args for call in turn.tool_calls],
            [result.result for result in turn.tool_results],
            turn.decision.final_answer if turn.decision else None,
        )
        result = f"{server(number)} restarted"
        if kept != (words(number), [{"server": server(number)}], [result], answer(number)):
            found.append(f"evidence of turn {number}: {kept}")
    for turn in evidence:
        if turn.outcome is not Outcome.ANSWERED and (
            turn.input.text or not turn.invocation_id.startswith(_LOST)
        ):
            found.append(f"a turn that died has left evidence: {turn}")
    names = [turn.idempotency_key for turn in answered if turn.idempotency_key]
    if len(names) != len(set(names)):
        found.append("an idempotency key was taken twice")
    return found


def _artifacts(
    artifacts: Sequence[Artifact],
    entries: Sequence[JournalEntry],
    evidence: Sequence[Interaction],
) -> list[str]:
    """Each turn is an artifact, and no other turn has one but by a call of unknown outcome."""
    found = []
    names = {artifact.artifact_id for artifact in artifacts}
    for entry in entries:
        if not any(
            name.startswith("turn:") and name.endswith(f":{entry.state.turn}") for name in names
        ):
            found.append(f"turn {entry.state.turn} has no artifact")
    lost = {name for name in names if name.startswith(_LOST)}
    if {name.rpartition(":")[2] for name in lost} != set(_lost_calls(evidence)):
        found.append("calls of unknown outcome as artifacts and as evidence differ")
    for artifact in artifacts:
        if artifact.artifact_id not in lost and (artifact.turn or 0) > len(entries):
            found.append(f"artifact {artifact.artifact_id} is of a turn that died")
    return found


def _calls(
    entries: Sequence[JournalEntry],
    evidence: Sequence[Interaction],
    unsettled: Sequence[ToolStart],
    before: Left,
) -> list[str]:
    """Calls of the turn that died are noted, and those of one before it were reported, once."""
    found = []
    for start in unsettled:
        if start.turn != len(entries) + 1 or start.args != {"server": server(len(entries))}:
            found.append(f"after {len(entries)} turns the call is unsettled: {start}")
    if len(entries) == before.turns:
        if not {start.call_id for start in before.unsettled} <= {s.call_id for s in unsettled}:
            found.append("a call of unknown outcome was forgotten")
        return found
    lost = _lost_calls(evidence)
    for start in before.unsettled:
        warning = f"outcome unknown: restart({start.args['server']})"
        reports = [entry for entry in entries if any(warning in each for each in entry.warnings)]
        if [entry.state.turn for entry in reports] != [before.turns + 1]:
            found.append(f"{warning} is not reported by the next turn alone: {reports}")
        if lost.count(start.call_id) != 1:
            found.append(f"{warning} has no evidence")
    return found


def _acts(
    acts: Counter[str], evidence: Sequence[Interaction], unsettled: Sequence[ToolStart]
) -> list[str]:
    """Whatever a tool did is known: as a call of an answered turn, or as one of unknown outcome."""
    known = Counter(call.args["server"] for turn in evidence for call in turn.tool_calls)
    known += Counter(start.args["server"] for start in unsettled)
    return [f"{more} was restarted without a note" for more in acts - known]


async def _events(
    sessions: BaseSessionService, key: SessionKey, entries: Sequence[JournalEntry]
) -> list[str]:
    """The session has the events of the turns in the journal, whole, and no other."""
    stored = await sessions.get_session(app_name=key.app, user_id=key.user, session_id=key.session)
    if stored is None:
        return ["the session is gone"] if entries else []
    found = []
    spoken = [event for event in stored.events if event.content]
    expected: list[tuple[str, str]] = []
    for number, entry in enumerate(entries):
        shown = (
            words(number),
            f"calls {server(number)}",
            f"got {server(number)} restarted",
            answer(number),
        )
        expected += [(entry.invocation_id, text) for text in shown]
    if (seen := [(event.invocation_id, _shown(event)) for event in spoken]) != expected:
        found.append(f"events {seen}, expected {expected}")
    return found


def _shown(event: Event) -> str:
    for call in event.get_function_calls():
        return f"calls {(call.args or {}).get('server')}"
    for response in event.get_function_responses():
        return f"got {(response.response or {}).get('result')}"
    return "".join(
        part.text or "" for part in (event.content.parts if event.content else None) or []
    )


async def _all_artifacts(container: Container, key: SessionKey) -> list[Artifact]:
    store = container.artifacts
    assert isinstance(store, ArtifactListing)
    found: list[Artifact] = []
    while page := await store.page(key.tenant, after=found[-1].artifact_id if found else None):
        found += page
    return found


def _lost_calls(evidence: Sequence[Interaction]) -> list[str]:
    lost = [turn for turn in evidence if turn.invocation_id.startswith(_LOST)]
    return [call.id for turn in lost for call in turn.tool_calls]


def _lines(acts: Path) -> Counter[str]:
    return Counter(acts.read_text(encoding="utf-8").split()) if acts.exists() else Counter()
