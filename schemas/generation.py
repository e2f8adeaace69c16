"""Public contract: the Generator's answer. Defined in `acc_ace.core.schemas.interaction`."""

from acc_ace.core.schemas.interaction import GeneratorOutput

__all__ = ["GeneratorOutput"]
