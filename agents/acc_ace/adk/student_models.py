"""The models that learn without a session: a Generator that answers, a Reflector, a Curator."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

from google.adk.models import BaseLlm
from pydantic import BaseModel

from acc_ace.adk.answer_feedback import learning_roles
from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.text.prompt import Prompt
from acc_ace.turn.learning_step import Roles
from acc_ace.turn.structured_call import Completion, load_prompts


@dataclass(frozen=True)
class Students:
    """The Generator that answers, and the roles that reflect and curate."""

    generator: Completion
    generator_prompt: Prompt
    roles: Roles


STUDENTS: tuple[Role, ...] = ("generator", "reflector", "curator")
"""The roles that offline learning calls."""


class StudentModels:
    """Opens the models of the settings, role by role, and closes them at the end."""

    def __init__(
        self,
        container: Container,
        *,
        models: Mapping[Role, BaseLlm] | None = None,
        answers: type[BaseModel] = GeneratorOutput,
    ) -> None:
        """`answers` is the schema of the Generator. Raises ConfigError for an unusable model."""
        self._container, self._answers = container, answers
        self._models = container.parts.build_models(STUDENTS, container.settings, models)
        container.spending.require_prices(container.parts.priced_names(self._models.values()))

    async def __aenter__(self) -> Students:
        settings = self._container.settings
        generator = self._models["generator"]
        return Students(
            generator=DirectCompletion(generator, self._answers, settings.generator),
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
        await self._container.parts.close_models(self._models.values())
