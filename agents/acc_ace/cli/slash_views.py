"""What `/ccs`, `/diff` and `/playbook` show. Stored text is data: it is never read as markup."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from acc_ace.cli.printable_lines import Lines
from acc_ace.schemas.ccs import CCS_FIELDS
from acc_ace.schemas.commit import CcsDiff, CommittedState, ConstraintPin, JournalEntry
from acc_ace.schemas.playbook import Bullet, StoredPlaybook


def ccs_view(state: CommittedState) -> RenderableType:
    """The nine fields, with the id, authority and origin of each constraint."""
    fields = state.ccs.model_dump()
    pins = {pin.text: pin for pin in state.pins}
    table = _two_columns()
    for name in CCS_FIELDS:
        value = fields[name]
        if name == "constraints":
            value = [_constraint(text, pins.get(text)) for text in value]
        table.add_row(Text(name, style="bold"), _value(value))
    return Group(Text(f"CCS version {state.version}, after turn {state.turn}", "dim"), table)


def diff_view(entry: JournalEntry) -> RenderableType:
    """What the newest commit changed, and what the gate mended."""
    title = Text(
        f"{entry.kind.value}: version {entry.state.version}, turn {entry.state.turn}", "dim"
    )
    rows = list(_diff_rows(entry.diff))
    if not rows:
        return Group(title, Text("nothing changed"))
    table = _two_columns()
    for label, value in rows:
        table.add_row(Text(label, style="bold"), value)
    return Group(title, table)


def playbook_view(stored: StoredPlaybook) -> RenderableType:
    """Bullets by section, with their counters."""
    bullets = stored.playbook.bullets
    title = Text(f"playbook version {stored.version}, {len(bullets)} bullets", "dim")
    if not bullets:
        return Group(title, Text("no bullets yet: they are learned from what goes wrong or right"))
    parts: list[RenderableType] = [title]
    for section in dict.fromkeys(bullet.section for bullet in bullets):
        table = _two_columns()
        for bullet in bullets:
            if bullet.section == section:
                table.add_row(Text(bullet.id, style="bold"), _bullet(bullet))
        parts += [Lines((section, "underline")), table]
    return Group(*parts)


def _two_columns() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    return table


def _value(value: str | list[str] | None) -> Lines:
    items = [value] if isinstance(value, str) else (value or [])
    shown = [item for item in items if item]
    return Lines(*((item, "") for item in shown)) if shown else Lines(("-", "dim"))


def _constraint(text: str, pin: ConstraintPin | None) -> str:
    if pin is None:
        return text
    return f"[{pin.id}] {text} ({pin.authority.value}, turn {pin.origin_turn})"


def _diff_rows(diff: CcsDiff) -> Iterable[tuple[str, Lines]]:
    for pin in diff.constraints_added:
        yield "+ constraint", Lines((f"[{pin.id}] {pin.text}", "green"))
    for release in diff.constraints_released:
        amended = f" -> {release.replaced_by}" if release.replaced_by else ""
        gone = (f"[{release.id}] {release.text}{amended}", "red")
        yield "- constraint", Lines(gone, (f"by: {release.quote}", "dim"))
    if diff.goal_before != diff.goal_after:
        yield "goal", _before_after(diff.goal_before, diff.goal_after)
    for change in diff.changes:
        if change.field not in {"constraints", "goal_orientation"}:
            yield change.field, _before_after(change.before, change.after)
    for repair in diff.repairs:
        detail = f": {repair.detail}" if repair.detail else ""
        yield "mended", Lines((f"{repair.field}, {repair.reason}{detail}", "yellow"))


def _before_after(before: str | list[str] | None, after: str | list[str] | None) -> Lines:
    """Removed and added items of a list, or the text before and after."""
    old = [before] if isinstance(before, str) else (before or [])
    new = [after] if isinstance(after, str) else (after or [])
    gone = [(f"- {item}", "red") for item in old if item and item not in new]
    come = [(f"+ {item}", "green") for item in new if item and item not in old]
    return Lines(*gone, *come) if gone or come else Lines(("reordered", "dim"))


def _bullet(bullet: Bullet) -> Lines:
    counters = f"helpful {bullet.helpful} · harmful {bullet.harmful} · neutral {bullet.neutral}"
    return Lines((bullet.content, ""), (counters, "dim"))
