"""The public contracts, for whoever reads a checkout. They are defined in `acc_ace.core.schemas`.

These modules only name them again; they are not part of the installed package.
"""

from acc_ace.core.schemas.ccs import CompressedCognitiveState

__all__ = ["CompressedCognitiveState"]
