"""A user reads or corrects one artifact of their memory."""

from acc_ace.container import Container
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import InputError, NotFoundError
from acc_ace.memory.derivation import BEFORE

CORRECTED = " (corrected)"


async def find_artifact(container: Container, tenant: Tenant, artifact_id: str) -> Artifact:
    """The artifact. Raises NotFoundError or StoreError."""
    artifact = await container.artifacts.get(tenant, artifact_id)
    if artifact is None:
        raise NotFoundError(f"memory holds no artifact '{artifact_id}' of this user")
    return artifact


async def correct_artifact(
    container: Container, tenant: Tenant, artifact_id: str, content: str
) -> Artifact:
    """Let the user's version take the artifact's place; its id, time and authority stay.

    The version before is kept under another id, as superseded: it never qualifies again, and
    goes with the next correction. Raises InputError, NotFoundError, ConflictError when the user
    was erased meanwhile, or StoreError.
    """
    most = container.settings.limits.tool_result_tokens
    if not content.strip() or estimate_tokens(content) > most:
        raise InputError(f"an artifact has 1 to {most} tokens (ACC_ACE_LIMITS__TOOL_RESULT_TOKENS)")
    await find_artifact(container, tenant, artifact_id)
    present = await container.erasure.presence(tenant)
    old = await find_artifact(container, tenant, artifact_id)
    if old.superseded_by is not None:
        raise InputError(f"'{artifact_id}' is an old version; correct '{old.superseded_by}'")
    if old.content == content:
        return old
    source = f"{old.source.removesuffix(CORRECTED)}{CORRECTED}"
    new = old.model_copy(update={"content": content, "source": source})
    work = container.unit_of_work()
    work.add(present)
    work.add(container.artifacts.add_write([_superseded(old), new]))
    await work.commit()
    return new


def _superseded(old: Artifact) -> Artifact:
    """The version before, a note: it is no turn or part of a document any more."""
    update = {
        "artifact_id": f"{BEFORE}{old.artifact_id}",
        "kind": ArtifactKind.NOTE,
        "superseded_by": old.artifact_id,
        "turn": None,
        "document": None,
    }
    return old.model_copy(update=update)
