"""Public contract: base classes and tenants. Defined in `acc_ace.core.schemas.base`."""

from acc_ace.core.schemas.base import (
    OWN_APP,
    SCHEMA_VERSION,
    Authority,
    OptionalText,
    PlaybookScope,
    ReplyValue,
    SessionKey,
    StoredValue,
    Tenant,
    V,
    Value,
    trusted,
    trusted_copy,
)

__all__ = [
    "OWN_APP",
    "SCHEMA_VERSION",
    "Authority",
    "OptionalText",
    "PlaybookScope",
    "ReplyValue",
    "SessionKey",
    "StoredValue",
    "Tenant",
    "V",
    "Value",
    "trusted",
    "trusted_copy",
]
