"""Public contract: the Generator's answer. Defined in `acc_ace.core.schemas.interaction`."""

from acc_ace.core.schemas.interaction import GeneratorOutput, SmallAnswer

__all__ = ["GeneratorOutput", "SmallAnswer"]
