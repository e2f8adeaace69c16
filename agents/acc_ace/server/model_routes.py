"""Route that says which model each agent uses."""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from acc_ace.config import ROLES, Role
from acc_ace.models.factory import Kind, describe
from acc_ace.server.problems import documented
from acc_ace.server.server_context import Context, User

router = APIRouter(prefix="/v1/models", tags=["models"])


class AgentModel(BaseModel):
    """The model of one agent."""

    agent: Role
    model: str
    kind: Kind
    note: str = Field(description="Note on the model; for 'embedded': that it is not an LLM.")


@router.get("", summary="List the models", responses=documented(401, 403))
async def list_models(context: Context, _user: User) -> list[AgentModel]:
    """Which model each agent uses."""
    infos = [describe(role, context.container.settings) for role in ROLES]
    return [
        AgentModel(agent=info.role, model=info.name, kind=info.kind, note=info.note)
        for info in infos
    ]
