"""Public contract: the Compressed Cognitive State. Defined in `acc_ace.core.schemas.ccs`."""

from acc_ace.core.schemas.ccs import CCS_FIELDS, CompressedCognitiveState, empty_ccs

__all__ = ["CCS_FIELDS", "CompressedCognitiveState", "empty_ccs"]
