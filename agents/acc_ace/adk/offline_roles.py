"""Who answers, reflects and curates when learning offline: models alone, without a session."""

from collections.abc import Mapping
from types import TracebackType

from google.adk.models import BaseLlm

from acc_ace.adk.answer_feedback import learning_roles
from acc_ace.adk.direct_completion import DirectCompletion
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.models.factory import build_model
from acc_ace.models.resilient import ResilientLlm
from acc_ace.playbook.offline_learning import Students
from acc_ace.schemas.interaction import GeneratorOutput
from acc_ace.turn.structured_call import load_prompts

STUDENTS: tuple[Role, ...] = ("generator", "reflector", "curator")
"""The roles that offline learning asks."""


class Classroom:
    """Opens the models of the settings, role by role, and closes them at the end."""

    def __init__(
        self, container: Container, *, models: Mapping[Role, BaseLlm] | None = None
    ) -> None:
        """Raises ConfigError for a model that cannot be used."""
        settings, chosen = container.settings, models or {}
        self._container = container
        self._models = {role: chosen.get(role) or build_model(role, settings) for role in STUDENTS}

    async def __aenter__(self) -> Students:
        settings = self._container.settings
        generator = self._models["generator"]
        return Students(
            generator=DirectCompletion(generator, GeneratorOutput, settings.generator),
            generator_prompt=load_prompts().generator,
            roles=learning_roles(
                self._container, self._models["reflector"], self._models["curator"]
            ),
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for model in self._models.values():
            if isinstance(model, ResilientLlm):
                await model.aclose()
