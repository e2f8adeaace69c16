"""Public contract: the Compressed Cognitive State. Defined in `acc_ace.schemas.ccs`."""

from acc_ace.schemas.ccs import CCS_FIELDS, CompressedCognitiveState, empty_ccs

__all__ = ["CCS_FIELDS", "CompressedCognitiveState", "empty_ccs"]
