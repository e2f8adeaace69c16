"""Public contract: who spoke. Defined in `acc_ace.schemas.base`."""

from acc_ace.schemas.base import Authority

__all__ = ["Authority"]
