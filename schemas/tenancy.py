"""Public contract: keys of apps, users and sessions. Defined in `acc_ace.schemas.session`."""

from acc_ace.schemas.session import OWN_APP, PlaybookScope, SessionKey, Tenant

__all__ = ["OWN_APP", "PlaybookScope", "SessionKey", "Tenant"]
