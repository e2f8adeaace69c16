"""The models that memory asks: a caller's own or those configured, else the host agent's own.

Under the plugin 'auto' never means the embedded engine, unless the host agent answers with it.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.workflow import BaseNode
from pydantic import PrivateAttr

from acc_ace.adk.structured_agent import DirectCompletion, direct_completions
from acc_ace.container import Container
from acc_ace.errors import ConfigError
from acc_ace.model_settings import AUTO, Role
from acc_ace.models.names import kind_of

if TYPE_CHECKING:
    from google.adk.agents import LlmAgent


class HostModels:
    """The models of memory's roles in the runs of a host."""

    def __init__(
        self,
        container: Container,
        roles: tuple[Role, ...],
        own: Mapping[Role, BaseLlm],
        root: BaseNode | None,
    ) -> None:
        """`root` is the host's root, for one that ADK does not show to plugins.

        Raises ConfigError for a model that cannot be used.
        """
        self._container, self._root, settings = container, root, container.settings
        self._parts = container.parts
        named = [role for role in roles if role in own or settings.agent(role).model != AUTO]
        self._chosen = self._parts.build_models(named, settings, own)
        self._hosted = [role for role in roles if role not in self._chosen]
        self._host: BaseLlm | str = ""
        self._models: dict[Role, BaseLlm] = dict(self._chosen)
        self._completions = direct_completions(self._models, settings)
        container.spending.require_prices(self._parts.priced_names(self._models.values()))

    def completions(self, ctx: InvocationContext) -> Mapping[Role, DirectCompletion]:
        """The completions of a run. Raises ConfigError when the host's model is not known."""
        if self._hosted:
            host = self._model_of(ctx)
            # Models are compared by identity: pydantic compares all that they hold.
            if host is not self._host and (not isinstance(host, str) or host != self._host):
                self._take(host)
        return self._completions

    def lasting(self) -> dict[Role, BaseLlm]:
        """Models for work beside the runs: those of the latest run."""
        later: dict[Role, BaseLlm] = {role: _LatestLlm(self, role) for role in self._hosted}
        return {**self._chosen, **later}

    def latest(self, role: Role) -> BaseLlm:
        """The model of the latest run. Raises ConfigError before the first one."""
        if role not in self._models:
            raise ConfigError(_unknown(self._hosted, "no agent has run yet"))
        return self._models[role]

    async def aclose(self) -> None:
        """Close the models' connections."""
        await self._parts.close_models(self._models.values())

    def _take(self, host: BaseLlm | str) -> None:
        settings, build = self._container.settings, self._parts.build_model
        hosted = {role: build(role, settings, host=host) for role in self._hosted}
        self._container.spending.require_prices(self._parts.priced_names(hosted.values()))
        self._host, self._models = host, {**self._chosen, **hosted}
        self._completions = direct_completions(self._models, settings)

    def _model_of(self, ctx: InvocationContext) -> BaseLlm | str:
        """What the first language model agent of the host answers with, from its root on."""
        root = self._root or ctx.agent
        if root is None:
            raise ConfigError(
                _unknown(
                    self._hosted,
                    "ADK does not show a root that is a workflow to its plugins; name it, as in "
                    "BoundedMemoryPlugin(root=workflow)",
                )
            )
        agent = first_llm_agent(getattr(root, "root_agent", root))
        if agent is None:
            raise ConfigError(_unknown(self._hosted, f"'{root.name}' has no LlmAgent"))
        return _by_name(agent) or _instance(agent, self._hosted)


def first_llm_agent(node: BaseNode) -> "LlmAgent | None":
    """The first agent with a language model in a tree of agents, or in a workflow."""
    from google.adk.agents import LlmAgent  # noqa: PLC0415 - slow; a host that runs has it

    if isinstance(node, LlmAgent):
        return node
    graph = getattr(node, "graph", None)
    for child in (*getattr(node, "sub_agents", ()), *(graph.nodes if graph else ())):
        if agent := first_llm_agent(child):
            return agent
    return None


class _LatestLlm(BaseLlm):
    """Asks the model of the latest run."""

    _models: HostModels = PrivateAttr()
    _role: Role = PrivateAttr()

    def __init__(self, models: HostModels, role: Role) -> None:
        super().__init__(model="the host agent's own")
        self._models, self._role = models, role

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer as that model does; the reply names it."""
        replies = self._models.latest(self._role).generate_content_async(llm_request, stream)
        async with aclosing(replies):
            async for reply in replies:
                yield reply


def _by_name(agent: "LlmAgent") -> str:
    """The name of an agent's model, if we build models of that name too; else ''."""
    model = agent.model
    if not isinstance(model, str):
        return ""
    try:
        kind_of(model)
    except ConfigError:
        return ""
    return model


def _instance(agent: "LlmAgent", roles: list[Role]) -> BaseLlm:
    """The model as ADK resolves it: given as an object, inherited, or by a name of ADK's own."""
    try:
        return agent.canonical_model
    except ValueError as error:
        raise ConfigError(_unknown(roles, f"agent '{agent.name}': {error}")) from error


def _unknown(roles: list[Role], why: str) -> str:
    settings = ", ".join(f"ACC_ACE_{role.upper()}__MODEL" for role in roles)
    return (
        f"memory asks the model of your own agent, which is not known: {why}. Or set the models "
        f"that memory asks: {settings}"
    )
