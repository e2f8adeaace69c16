"""Terminal views of playbooks, records, versions and diffs. Stored text is never markup."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from acc_ace.cli.output import Paragraphs, printable, when
from acc_ace.core.playbook.bullet_lookup import BulletHistory, Hit
from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.playbook.playbook_service import PlaybookEdit
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.delta import DeltaResult, DeltaStatus, PlaybookVersion, RefineStep
from acc_ace.core.schemas.playbook import DeltaRecord

_COLOURS = {"+": "green", "-": "red", "~": "yellow", "#": "underline"}
_STATUS = {DeltaStatus.APPLIED: "green", DeltaStatus.HELD: "yellow", DeltaStatus.REJECTED: "red"}
_DIGEST = 12


def diff_view(lines: Sequence[str], first: int, second: int) -> RenderableType:
    """A diff, coloured on a terminal."""
    title = Text(f"playbook version {first} → {second}", "dim")
    if not lines:
        return Group(title, Text("no differences"))
    return Group(title, *(Paragraphs((line, _COLOURS.get(line[:1], ""))) for line in lines))


def hits_view(hits: Sequence[Hit]) -> RenderableType:
    """The results of a search."""
    if not hits:
        return Text("no matching bullets")
    table = _table("score", "bullet", "")
    for hit in hits:
        table.add_row(f"{hit.score:.2f}", _id(hit.bullet), _said(hit.bullet))
    return table


def versions_view(versions: Sequence[PlaybookVersion]) -> RenderableType:
    """The versions, newest first."""
    if not versions:
        return Text("no versions yet")
    table = _table("version", "when", "bullets", "digest", "reason")
    for version in versions:
        counts = ", ".join(f"{kind} {count}" for kind, count in version.counts.items())
        table.add_row(
            str(version.version),
            when(version.at),
            "?" if version.bullets is None else str(version.bullets),
            (version.digest or "?")[:_DIGEST],
            counts,
        )
    return table


def story_view(story: BulletHistory) -> RenderableType:
    """A bullet's origin and history, oldest first."""
    parts: list[RenderableType] = []
    if story.live is None:
        parts.append(Text(f"{story.bullet_id} is no longer in the playbook", "dim"))
    elif story.live.id != story.bullet_id:
        parts.append(Text(f"{story.bullet_id} is now part of {story.live.id}:", "dim"))
        parts.append(_said(story.live))
    else:
        parts.append(_said(story.live))
        parts.append(_origin(story.live))
    parts.append(Text())
    parts.append(records_view(list(reversed(story.records))))
    if not story.complete:
        parts.append(Text("… older records omitted", "dim"))
    return Group(*parts)


def records_view(records: Sequence[DeltaRecord]) -> RenderableType:
    """Rows of the delta log, in the given order."""
    table = _table("#", "version", "when", "what", "bullet", "status", "")
    for record in records:
        table.add_row(
            str(record.seq),
            str(record.version),
            when(record.created_at),
            record.kind.value,
            record.bullet_id or "-",
            Text(record.status.value, _STATUS[record.status]),
            Paragraphs((_change(record), ""), *_why(record)),
        )
    return table


def held_view(record: DeltaRecord, against: Sequence[Bullet] = ()) -> RenderableType:
    """A held operation with the data to decide on it; `against` are bullets that it may
    contradict or repeat.
    """
    title = f"#{record.seq}  {record.kind.value} {record.bullet_id or ''}".rstrip()
    parts: list[RenderableType] = [
        Text(f"{title}  held: {record.reason}", "yellow"),
        Text(f"proposed {when(record.created_at)}{_whence(record)}", "dim"),
    ]
    if record.before is not None:
        parts.append(Paragraphs((f"- {record.before.content}", "red")))
    operation = record.operation
    if operation is not None and operation.content:
        parts.append(Paragraphs((f"+ {operation.content}", "green")))
    parts += [Paragraphs(line) for line in _why(record)]
    if operation is not None and operation.source_ids:
        parts.append(Text(f"merges: {', '.join(operation.source_ids)}"))
    parts += [Paragraphs((f"against [{bullet.id}] {bullet.content}", "")) for bullet in against]
    return Group(*parts)


def edit_view(done: PlaybookEdit, *, note: str = "") -> RenderableType:
    """The change, the result of each operation, and the current version."""
    rows: list[RenderableType] = [Paragraphs((note, ""))] if note else []
    rows += [_result(result) for result in done.results]
    rows += [
        Paragraphs((f"left to make room: [{bullet.bullet_id}] {bullet.content}", "yellow"))
        for bullet in done.left
    ]
    return Group(*rows, Text(f"playbook version {done.stored.version}", "dim"))


def import_view(reading: Reading, done: PlaybookEdit, *, dry_run: bool) -> RenderableType:
    """What a file brought, or would bring: the lessons, and what is none, and why."""
    count, more = len(reading.playbook.bullets), reading.passed_over - len(reading.left_out)
    note = f"read as lessons: {count:,}; passed over, as they are none: {reading.passed_over:,}"
    rows: list[RenderableType] = [Paragraphs((note, ""))]
    rows += [Paragraphs((f"  {reason}", "dim")) for reason in reading.left_out]
    rows += [Text(f"  … and {more:,} more", "dim")] if more > 0 and reading.left_out else []
    if not dry_run:
        return Group(*rows, edit_view(done))
    for bullet, result in zip(reading.playbook.bullets, done.results, strict=True):
        rows += [Text("would be ", "dim") + _result(result), _said(bullet)]
    return Group(*rows, Text("dry run: nothing was changed", "dim"))


def steps_view(steps: Sequence[RefineStep]) -> RenderableType:
    """The steps of a refinement."""
    parts: list[RenderableType] = []
    for step in steps:
        if step.source_ids:
            parts.append(Paragraphs((f"~ [{step.bullet_id}] {step.content}", "yellow")))
            sources = zip(step.source_ids, step.source_contents, strict=False)
            parts += [Paragraphs((f"  - [{source}] {text}", "red")) for source, text in sources]
        else:
            parts.append(Paragraphs((f"- [{step.bullet_id}] {step.content}", "red")))
        parts.append(Text(f"    {step.kind.value.lower()}: {step.reason}", "dim"))
    return Group(*parts)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=bool(name))
    return table


def _result(result: DeltaResult) -> Text:
    line = f"{result.status.value:9} {result.type:7} {result.bullet_id or '-'}"
    reason = "" if result.reason == "ok" else f"  {result.reason}"
    return Text(f"{line}{reason}", _STATUS[result.status])


def _id(bullet: Bullet) -> Text:
    return Text(bullet.id, "bold")


def _said(bullet: Bullet) -> Paragraphs:
    counts = f"{bullet.section} · helpful {bullet.helpful} · harmful {bullet.harmful}"
    pinned = " · pinned" if bullet.pinned else ""
    return Paragraphs((bullet.content, ""), (f"{counts} · neutral {bullet.neutral}{pinned}", "dim"))


def _origin(bullet: Bullet) -> Text:
    origin = bullet.origin
    if origin is None:
        return Text("origin: not recorded", "dim")
    where = f"session {origin.session}, turn {origin.turn}" if origin.session else "entered by hand"
    return Text(printable(f"origin: {origin.user}, {where}"), "dim")


def _why(record: DeltaRecord) -> list[tuple[str, str]]:
    """The rationale of a proposal, as lines."""
    priority = "" if record.priority == "normal" else f"{record.priority} priority"
    reason = ": ".join(filter(None, (priority, record.rationale)))
    return [(f"because {reason}", "dim")] if reason else []


def _change(record: DeltaRecord) -> str:
    if record.merged_into:
        return f"into {record.merged_into}"
    if record.status is not DeltaStatus.APPLIED:
        return f"{record.reason}: {record.proposed}" if record.proposed else record.reason
    counted = record.before is not None and record.after is not None
    if counted and record.before is not None and record.after is not None:
        if record.before.content == record.after.content:
            return _difference(record.before, record.after)
        return record.after.content
    bullet = record.after or record.before
    return bullet.content if bullet is not None else record.reason


def _difference(before: Bullet, after: Bullet) -> str:
    """Changes of counters and section of a bullet with the same text; its text if none."""
    changes = [
        f"{name} {getattr(before, name)} → {getattr(after, name)}"
        for name in ("helpful", "harmful", "neutral")
        if getattr(before, name) != getattr(after, name)
    ]
    if before.section != after.section:
        changes.append(f"section {before.section} → {after.section}")
    return ", ".join(changes) or after.content


def _whence(record: DeltaRecord) -> str:
    if record.session:
        return printable(f" by {record.user}, session {record.session}, turn {record.turn}")
    return printable(f" by {record.user}") if record.user else ""
