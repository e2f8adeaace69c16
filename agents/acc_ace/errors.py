"""Every error of the product, in one hierarchy.

AccAceError
├── ConfigError            settings are missing or wrong; names the setting and what is allowed
├── InputError             x_t is invalid (empty, binary)
│   └── InputTooLargeError x_t is longer than its budget
├── NotFoundError          no such session, version, artifact or bullet
│   └── UnknownAppError    no app of that name is served
├── SessionBusyError       another turn of this session is running
├── SpendingCeilingError   the user has spent the day's ceiling
├── MemoryBypassedError    a model request would go out without bounded memory
├── AuthError              no token, or another user's
├── ForbiddenError         the user is known but not allowed to do that
├── CommitRejected         the commit gate cannot make a valid CCS
│   └── ConstraintBudgetError  the constraints alone exceed their budget
├── PlaybookError          an operation on a playbook value is not possible
├── PromptError            a prompt file is missing, or its inputs do not match
├── StoreError             a store cannot read or write; names the store and the fix
│   ├── ConflictError      another commit came first (compare-and-swap failed)
│   └── CorruptStoreError  stored data cannot be read
└── ModelError             a model did not answer; names the model and the stage
    ├── ModelUnavailable   network, timeout, 429 or 5xx after all retries
    ├── ModelRefused       a safety block, or a 4xx that a retry cannot fix
    ├── ModelOutputError   the reply is empty, truncated or not of the schema
    └── EmbedderError      an embedder failed; recall continues lexically
        └── TextRefusedError   it refused this text; it may accept others
"""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import ValidationError


class AccAceError(Exception):
    """Base of all errors of the product. `code` is stable and goes into problem+json."""

    code: ClassVar[str] = "error"


class ConfigError(AccAceError):
    """Settings are missing or wrong."""

    code = "invalid_settings"


class InputError(AccAceError):
    """The input is invalid."""

    code = "invalid_input"


class InputTooLargeError(InputError):
    """The input is longer than its budget."""

    code = "input_too_large"


class NotFoundError(AccAceError):
    """The requested object does not exist."""

    code = "not_found"


class UnknownAppError(NotFoundError, ValueError):
    """No app of that name is served. ADK's routes expect a ValueError for it."""


class SessionBusyError(AccAceError):
    """Another turn of this session is running."""

    code = "session_busy"


class SpendingCeilingError(AccAceError):
    """The user has spent the day's ceiling."""

    code = "spending_ceiling"
    wait_s: float = 0.0
    """Seconds until turns go on; 0 where that is not known."""


class MemoryBypassedError(AccAceError):
    """A model request would go out without bounded memory, or with the transcript."""

    code = "memory_bypassed"


class AuthError(AccAceError):
    """No token, or another user's."""

    code = "unauthorized"


class ForbiddenError(AccAceError):
    """The user is known but not allowed to do that."""

    code = "forbidden"


class CommitRejected(AccAceError):
    """The commit gate cannot make a valid state; CCS_{t-1} is kept."""

    code = "commit_rejected"


class ConstraintBudgetError(CommitRejected):
    """The active constraints exceed their token budget; none is dropped, the turn fails."""

    code = "constraints_over_budget"


class PlaybookError(AccAceError):
    """An operation on a playbook value is not possible; its message is the reason."""

    code = "playbook_error"


class PromptError(AccAceError):
    """A prompt file is missing or its inputs do not match."""

    code = "prompt_error"


class StoreError(AccAceError):
    """A store cannot read or write."""

    code = "store_error"


class ConflictError(StoreError):
    """Compare-and-swap failed: the version is not the expected one."""

    code = "conflict"


class CorruptStoreError(StoreError):
    """Stored data cannot be read."""

    code = "corrupt_store"


class ModelError(AccAceError):
    """A model did not answer."""

    code = "model_error"
    spent: Mapping[str, int] = {"calls": 1, "failed": 1}
    """What the tries took, all models together: counts by the fields of TokenUse."""


class ModelUnavailable(ModelError):
    """Network failure, timeout, 429 or 5xx after all retries and fallbacks."""

    code = "model_unavailable"


class ModelRefused(ModelError):
    """A safety block, or an error that a retry cannot fix."""

    code = "model_refused"


class ModelOutputError(ModelError):
    """The reply is empty, truncated or not of the schema."""

    code = "model_output"


class EmbedderError(ModelError):
    """An embedder returned no vectors."""

    code = "embedder_error"


class TextRefusedError(EmbedderError):
    """An embedder refused a text, such as one that is too long.

    A retry will not help; another text may be accepted. With a wrong setting the server refuses
    every text.
    """

    code = "text_refused"


class LiveNotSupportedError(AccAceError):
    """A live session (audio or video) was requested; turns are text."""

    code = "live_not_supported"


def first_problem(error: ValidationError) -> str:
    """The first validation error, without the input, which may be long or secret."""
    problem = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(str(part) for part in problem["loc"])
    return f"{field}: {problem['msg']}" if field else str(problem["msg"])
