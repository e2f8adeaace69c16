"""Whether the Compressor's model is believed in what it says of rules. Read-only."""

from collections.abc import Iterator

from acc_ace.cli.checks.installation import CheckResult, note, ok
from acc_ace.cli.checks.storage import from_memory
from acc_ace.cli.names import APP_NAME, DEFAULT_USER
from acc_ace.config import Settings
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.text.rules.reader import Trust
from acc_ace.errors import ConfigError
from acc_ace.models.factory import endpoint_of, place_of
from acc_ace.models.names import note_on
from acc_ace.storage.sql_ccm_records import marks_in
from acc_ace.turn.ccm_record import Count, counts, trust_in
from acc_ace.turn.ports import Ccm

_WRONG = ("called {} a rule of {} sentences that surely are none", "passed over {} of {} rules")
_MEANS = (
    "of what it calls a rule only what half sounds like one is in force, and what sounds like a "
    "rule and is not kept is listed at /rules"
)
_UNPROVED = (
    ", but it has not proved yet that it finds rules: what it passes over and surely sounds like "
    "one is in force or said not kept"
)
_FIX = "name a stronger model in ACC_ACE_COMPRESSOR__MODEL; it is believed again once it reads well"


def check_belief(settings: Settings) -> Iterator[CheckResult]:
    """How far the Compressor's model is believed by the terminal's user, and why."""
    model = settings.model_name("compressor")
    try:
        ccm = Ccm(model, endpoint_of(model, place_of(model, settings)))
    except ConfigError:
        return  # Reported by check_models.
    if note_on(model):
        return
    tenant = Tenant(APP_NAME, DEFAULT_USER)
    records = from_memory(settings, lambda rows: marks_in(rows, tenant))
    kinds = counts(ccm, tenant.user, records or ())
    own = _told([mine for mine, _ in kinds])
    everyone = _told([each for _, each in kinds])
    line = f"{model} at {ccm.endpoint}: it {own} (with all users: {everyone})"
    if any(count.is_too_wrong for kind in kinds for count in kind):
        yield note("rules read by", f"{line}; not believed: {_MEANS}", _FIX)
    else:
        is_proved = trust_in(ccm, tenant.user, records or ()) is Trust.BELIEVED
        means = f"believed: what it calls a rule is in force{'' if is_proved else _UNPROVED}"
        yield ok("rules read by", f"{line}; {means}")


def _told(kinds: list[Count]) -> str:
    both = zip(_WRONG, kinds, strict=True)
    return " and ".join(words.format(count.wrong, count.among) for words, count in both)
