"""Say which bullets have had their time: they harm, or nobody used them for long."""

from datetime import datetime, timedelta

from acc_ace.playbook.refine.bullet_record import is_judged, is_net_harmful, is_proven
from acc_ace.schemas.bullet import EPOCH, Bullet

NET_HARMFUL = "net_harmful"
STALE = "stale"


def retirement(bullet: Bullet, *, at: datetime, stale_after: timedelta | None) -> str | None:
    """The reason to archive a bullet, or None.

    A pinned one stays, and one that was never tagged: nothing is known against it. A proven one
    does not grow stale, since some lessons are needed once a year. `stale_after` None means that
    none does.
    """
    if bullet.pinned or not is_judged(bullet):
        return None
    if is_net_harmful(bullet):
        return NET_HARMFUL
    # A bullet from before there were times has none, so nobody can say how long it was unused.
    dated = bullet.updated_at > EPOCH
    unused_for = at - bullet.updated_at
    if stale_after is not None and dated and unused_for > stale_after and not is_proven(bullet):
        return STALE
    return None
