"""Stages in a wrong order fail when a pipeline is built, not in a turn."""

from collections.abc import Iterable
from typing import Protocol

from acc_ace.errors import ConfigError


class Ordered(Protocol):
    """A stage that says which values of the turn it requires and provides."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def requires(self) -> frozenset[str]:
        """Values of the turn that earlier stages have provided."""
        ...

    @property
    def provides(self) -> frozenset[str]:
        """Values of the turn that are there after it."""
        ...


def check_order(stages: Iterable[Ordered]) -> None:
    """Raise ConfigError unless each stage has what it requires from those before it."""
    provided: frozenset[str] = frozenset()
    for stage in stages:
        if missing := sorted(stage.requires - provided):
            raise ConfigError(
                f"stage '{stage.name}' requires {', '.join(missing)}, which no stage before it "
                "provides; put the stages into the order of the pipeline"
            )
        provided |= stage.provides
