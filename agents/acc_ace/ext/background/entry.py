"""What background learning offers: durable jobs after the answer. Needs the extra `background`."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final

from google.adk.models import BaseLlm

from acc_ace.config import Role, Settings
from acc_ace.container import Container
from acc_ace.ext.background.create_learning_queue import kept_jobs, open_learning_queue
from acc_ace.turn.learning_queue import LearningQueue

if TYPE_CHECKING:
    from acc_ace.ext.background.background_learning import BackgroundLearning

_COMMANDS: Final = {"": ("acc_ace.ext.background.commands",)}


class BackgroundEntry:
    """The hooks `learning` and `commands`."""

    builds_on = ("postgres",)

    def open_queue(self, settings: Settings) -> LearningQueue:
        """The queue of the settings."""
        return open_learning_queue(settings)

    def open_learning(
        self, container: Container, models: Mapping[Role, BaseLlm] | None
    ) -> "BackgroundLearning":
        """Jobs of this process's turns."""
        from acc_ace.ext.background.background_learning import BackgroundLearning  # noqa: PLC0415

        return BackgroundLearning(container, models=models)

    def kept_jobs(
        self, settings: Settings, own: LearningQueue | None
    ) -> AbstractAsyncContextManager[LearningQueue | None]:
        """The queue of existing jobs, also after learning was switched off; or None."""
        return kept_jobs(settings, own)

    def commands(self, group: str) -> Sequence[str]:
        """`jobs`."""
        return _COMMANDS.get(group, ())


ENTRY: Final = BackgroundEntry()
