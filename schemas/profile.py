"""Public contract: what is known of a user. Defined in `acc_ace.core.schemas.profile`."""

from acc_ace.core.schemas.profile import Profile, UserFact

__all__ = ["Profile", "UserFact"]
