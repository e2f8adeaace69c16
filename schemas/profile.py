"""Public contract: what is known of a user. Defined in `acc_ace.core.schemas.profile`."""

from acc_ace.core.schemas.profile import (
    AboutUser,
    Profile,
    UserFact,
    sentence_number,
    unmarked,
)

__all__ = ["AboutUser", "Profile", "UserFact", "sentence_number", "unmarked"]
