"""Routes by which a user reads, corrects and forgets what recall finds."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from acc_ace.core.schemas.artifact import Artifact, Erased
from acc_ace.memory.artifact_edit import correct_artifact, find_artifact
from acc_ace.server.request_body import Text
from acc_ace.server.server_context import Context, CurrentTenant
from acc_ace.turn.erasing import erase_artifacts

router = APIRouter(prefix="/v1/memory/artifacts/{artifact_id:path}", tags=["memory"])

Id = Annotated[str, Path(min_length=1, max_length=1_024, examples=["turn:incident-42:3"])]

DryRun = Annotated[bool, Query(description="Only list what would go.")]


class Correction(BaseModel):
    """The user's version."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"content": "db-01 has 64 GB."}]}
    )

    content: Text = Field(min_length=1, description="The whole text of the artifact.")


@router.get("", summary="Read an artifact")
async def read_artifact(context: Context, tenant: CurrentTenant, artifact_id: Id) -> Artifact:
    """One piece of your memory, by the id that recall shows."""
    return await find_artifact(context.container, tenant, artifact_id)


@router.put(
    "",
    summary="Correct an artifact",
)
async def put_artifact(
    context: Context, tenant: CurrentTenant, artifact_id: Id, body: Correction
) -> Artifact:
    """Let your version take its place in recall. What was said in the session stays as it was."""
    return await correct_artifact(context.container, tenant, artifact_id, body.content)


@router.delete(
    "",
    summary="Erase an artifact and what rests on it",
)
async def delete_artifact(
    context: Context, tenant: CurrentTenant, artifact_id: Id, *, dry_run: DryRun = False
) -> Erased:
    """Delete one piece of your memory, what rests on it, and what states say of it.

    Rules stay, and so does the transcript of the turn it came from, until its session is deleted.
    """
    return await erase_artifacts(context.container, tenant, [artifact_id], dry_run=dry_run)
