"""Which bullets a held operation contradicts, for the person who decides."""

from collections.abc import Iterable, Mapping, Sequence

from acc_ace.playbook.lesson_index import LessonIndex
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.playbook import DeltaRecord, Playbook


def contradicted(
    playbook: Playbook, records: Iterable[DeltaRecord]
) -> Mapping[int, Sequence[Bullet]]:
    """By `seq`, the live bullets whose contrary a held operation says; the others are left out."""
    index = LessonIndex(playbook.bullets)
    by_id = {bullet.id: bullet for bullet in playbook.bullets}
    found: dict[int, Sequence[Bullet]] = {}
    for record in records:
        said = "" if record.operation is None else record.operation.content or ""
        if said:
            own = () if record.bullet_id is None else (record.bullet_id,)
            bullets = [by_id[name] for name in index.contrary(said, apart_from=own)]
            if bullets:
                found[record.seq] = bullets
    return found
