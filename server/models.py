"""Route that says which model each agent uses."""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from config import ROLES, Role
from core.models.factory import Kind, describe
from server.context import Context, User
from server.problems import documented

router = APIRouter(prefix="/v1/models", tags=["models"])


class AgentModel(BaseModel):
    """The model of one agent."""

    agent: Role
    model: str
    kind: Kind
    note: str = Field(description="What to know about it; for 'embedded': that it is no LLM.")


@router.get("", summary="List the models", responses=documented(401, 403))
async def list_models(context: Context, _user: User) -> list[AgentModel]:
    """Which model each agent uses."""
    infos = [describe(role, context.container.settings) for role in ROLES]
    return [
        AgentModel(agent=info.role, model=info.name, kind=info.kind, note=info.note)
        for info in infos
    ]
