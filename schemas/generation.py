"""Public contract: the Generator's answer. Defined in `acc_ace.schemas.interaction`."""

from acc_ace.schemas.interaction import GeneratorOutput

__all__ = ["GeneratorOutput"]
