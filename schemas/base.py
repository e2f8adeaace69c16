"""Public contract: base classes and tenants. Defined in `acc_ace.core.schemas.base`."""

from acc_ace.core.schemas.base import (
    NO_HINTS,
    OWN_APP,
    SCHEMA_VERSION,
    Authority,
    EntryReply,
    OptionalText,
    PlaybookScope,
    ReplyHints,
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
    "NO_HINTS",
    "OWN_APP",
    "SCHEMA_VERSION",
    "Authority",
    "EntryReply",
    "OptionalText",
    "PlaybookScope",
    "ReplyHints",
    "ReplyValue",
    "SessionKey",
    "StoredValue",
    "Tenant",
    "V",
    "Value",
    "trusted",
    "trusted_copy",
]
