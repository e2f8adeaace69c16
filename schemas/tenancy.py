"""Public contract: keys of apps, users and sessions. Defined in `acc_ace.schemas.tenancy`."""

from acc_ace.schemas.tenancy import OWN_APP, PlaybookScope, SessionKey, Tenant

__all__ = ["OWN_APP", "PlaybookScope", "SessionKey", "Tenant"]
