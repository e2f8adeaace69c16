"""Public contract: who spoke. Defined in `acc_ace.schemas.authority`."""

from acc_ace.schemas.authority import Authority

__all__ = ["Authority"]
