"""Public contract: the Generator's answer. Defined in `acc_ace.schemas.generation`."""

from acc_ace.schemas.generation import GeneratorOutput

__all__ = ["GeneratorOutput"]
