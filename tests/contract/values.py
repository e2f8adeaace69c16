"""Short ways to make the values that stores keep."""

from datetime import timedelta
from typing import Any

from acc_ace.turn.ports import Ccm
from schemas.artifact import Artifact, ArtifactKind, RecallQuery
from schemas.base import SessionKey, Tenant
from schemas.bullet import Bullet
from schemas.ccs import empty_ccs
from schemas.commit import CcsDiff, CommitKind, CommittedState, JournalEntry
from schemas.delta import DeltaKind, DeltaStatus
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, TurnInput
from schemas.playbook import DeltaRecord
from tests.fakes.clock import START

KEY = SessionKey("shop", "aiko", "s-1")
OTHER_SESSION = SessionKey("shop", "aiko", "s-2")
OTHER_USER = SessionKey("shop", "ben", "s-1")
OTHER_APP = SessionKey("desk", "aiko", "s-1")
SMALL = Ccm("openai/small", "here:1")
ELSEWHERE = Ccm("openai/small", "there:1")


def artifact(
    artifact_id: str, content: str, *, tenant: Tenant = KEY.tenant, at: int = 0, **more: Any
) -> Artifact:
    return Artifact(
        artifact_id=artifact_id,
        content=content,
        source="test",
        created_at=START + timedelta(seconds=at),
        tenant=tenant,
        **more,
    )


def turn(number: int, content: str, *, key: SessionKey = KEY) -> Artifact:
    return artifact(
        f"{key.session}-t{number}",
        content,
        tenant=key.tenant,
        at=number,
        kind=ArtifactKind.TURN,
        session=key.session,
        turn=number,
    )


def asking(text: str, *, key: SessionKey = KEY, **more: Any) -> RecallQuery:
    return RecallQuery(key=key, text=text, **more)


def entry(version: int, gist: str = "") -> JournalEntry:
    ccs = empty_ccs().model_copy(update={"semantic_gist": gist})
    return JournalEntry(
        kind=CommitKind.COMMIT,
        state=CommittedState(version=version, turn=version, ccs=ccs),
        diff=CcsDiff(),
        invocation_id=f"i-{version}",
        created_at=START + timedelta(seconds=version),
    )


def interaction(number: int, text: str = "hello", **more: Any) -> Interaction:
    values: dict[str, Any] = {
        "turn": number,
        "invocation_id": f"i-{number}",
        "input": TurnInput(text=text),
        "decision": GeneratorOutput(final_answer=f"answer {number}"),
        "created_at": START + timedelta(seconds=number),
    }
    return Interaction(**(values | more))


def record(
    kind: str,
    *,
    before: Bullet | None = None,
    after: Bullet | None = None,
    status: DeltaStatus = DeltaStatus.APPLIED,
    reason: str = "ok",
    **more: Any,
) -> DeltaRecord:
    bullet = after or before
    return DeltaRecord(
        kind=DeltaKind(kind),
        bullet_id=bullet.id if bullet else None,
        status=status,
        reason=reason,
        before=before,
        after=after,
        created_at=START,
        **more,
    )
