"""What the survivor offers: a planner as a model, commands, routes of its runs, an app to talk to.

Each is imported when it is asked for; the world needs the extra `survivor`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from google.adk.apps import App
from google.adk.models import BaseLlm

from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.model_settings import POLICY_MODEL

_COMMANDS: Final = {"": ("acc_ace.ext.survivor.cli.commands",)}


class SurvivorEntry:
    """The hooks `models`, `commands`, `routers` and `apps`."""

    builds_on = ("embedded", "guard")

    def build(self, name: str, settings: Settings | None = None) -> BaseLlm | None:
        """The planner, if that is the name."""
        if name != POLICY_MODEL:
            return None
        from acc_ace.ext.survivor.policy_model import PolicyLlm  # noqa: PLC0415

        return PolicyLlm()

    def says_label(self, answer: str) -> bool:
        """Its answers have no label."""
        return False

    def commands(self, group: str) -> Sequence[str]:
        """`survive` and `analyze`."""
        return _COMMANDS.get(group, ())

    def routers(self) -> Sequence[APIRouter]:
        """Series of a run, and the running loop's settings."""
        from acc_ace.ext.survivor.run_routes import router  # noqa: PLC0415

        return (router,)

    def measures(self, run: Path) -> Mapping[str, float | None]:
        """The measures of a kept run that are numbers: no text of a world or a model."""
        from acc_ace.ext.survivor.measured_run import measured_run  # noqa: PLC0415

        fields = measured_run(run).result()
        return {name: value for name, value in fields if isinstance(value, int | float | None)}

    def apps(self) -> Mapping[str, Callable[[Container], App]]:
        """The survivor to talk to."""
        return {"survivor": _build_app}


def _build_app(container: Container) -> App:
    from acc_ace.ext.survivor.recent_ticks import build_app  # noqa: PLC0415

    return build_app(container)


ENTRY: Final = SurvivorEntry()
