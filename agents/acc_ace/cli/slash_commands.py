"""Slash commands: parse and run them, and their views.

Stored text is never interpreted as markup.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from acc_ace.cli.output import Paragraphs, named_values
from acc_ace.cli.prompt.attachments import AttachmentDesk
from acc_ace.cli.prompt.rule_commands import (
    added_line,
    lifted_line,
    read_artifacts,
    read_check,
    read_ids,
    read_rule,
    rules_view,
)
from acc_ace.cli.screen import Screen
from acc_ace.cli.turn_api import TurnApi
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.ccs import CCS_FIELDS
from acc_ace.core.schemas.commit import CcsDiff, CommittedState, ConstraintPin, JournalEntry
from acc_ace.core.schemas.playbook import Bullet, StoredPlaybook
from acc_ace.core.schemas.reflection import MAX_WORDS, Judgement
from acc_ace.errors import InputError
from acc_ace.turn.forget_wishes import erased_lines


def ccs_view(state: CommittedState) -> RenderableType:
    """The nine fields, with the id, authority and origin of each constraint."""
    fields = state.ccs.model_dump()
    pins = {pin.text: pin for pin in state.pins}
    fields["constraints"] = [_constraint(text, pins.get(text)) for text in state.ccs.constraints]
    table = named_values((name, _value(fields[name])) for name in CCS_FIELDS)
    return Group(Text(f"CCS version {state.version}, after turn {state.turn}", "dim"), table)


def diff_view(entry: JournalEntry) -> RenderableType:
    """The changes of the newest commit, and the gate's repairs."""
    title = Text(
        f"{entry.kind.value}: version {entry.state.version}, turn {entry.state.turn}", "dim"
    )
    rows = list(_diff_rows(entry.diff))
    if not rows:
        return Group(title, Text("nothing changed"))
    return Group(title, named_values(rows))


def playbook_view(stored: StoredPlaybook) -> RenderableType:
    """Bullets by section, with their counters."""
    bullets = stored.playbook.bullets
    title = Text(f"playbook version {stored.version}, {len(bullets)} bullets", "dim")
    if not bullets:
        return Group(title, Text("no bullets yet: they are learned from what goes wrong or right"))
    parts: list[RenderableType] = [title]
    for section in dict.fromkeys(bullet.section for bullet in bullets):
        values = ((item.id, _bullet(item)) for item in bullets if item.section == section)
        parts += [Paragraphs((section, "underline")), named_values(values)]
    return Group(*parts)


def _value(value: str | list[str] | None) -> Paragraphs:
    items = [value] if isinstance(value, str) else (value or [])
    shown = [item for item in items if item]
    return Paragraphs(*((item, "") for item in shown)) if shown else Paragraphs(("-", "dim"))


def _constraint(text: str, pin: ConstraintPin | None) -> str:
    if pin is None:
        return text
    return f"[{pin.id}] {text} ({pin.authority.value}, turn {pin.origin_turn})"


def _diff_rows(diff: CcsDiff) -> Iterable[tuple[str, Paragraphs]]:
    for pin in diff.constraints_added:
        yield "+ constraint", Paragraphs((f"[{pin.id}] {pin.text}", "green"))
    for release in diff.constraints_released:
        amended = f" -> {release.replaced_by}" if release.replaced_by else ""
        released = (f"[{release.id}] {release.text}{amended}", "red")
        yield "- constraint", Paragraphs(released, (f"by: {release.quote}", "dim"))
    if diff.goal_before != diff.goal_after:
        yield "goal", _before_after(diff.goal_before, diff.goal_after)
    for change in diff.changes:
        if change.field not in {"constraints", "goal_orientation"}:
            yield change.field, _before_after(change.before, change.after)
    for repair in diff.repairs:
        detail = f": {repair.detail}" if repair.detail else ""
        yield "repaired", Paragraphs((f"{repair.field}, {repair.reason}{detail}", "yellow"))


def _before_after(before: str | list[str] | None, after: str | list[str] | None) -> Paragraphs:
    """Removed and added list items, or the text before and after."""
    old = [before] if isinstance(before, str) else (before or [])
    new = [after] if isinstance(after, str) else (after or [])
    removed = [(f"- {item}", "red") for item in old if item and item not in new]
    added = [(f"+ {item}", "green") for item in new if item and item not in old]
    return Paragraphs(*removed, *added) if removed or added else Paragraphs(("reordered", "dim"))


def _bullet(bullet: Bullet) -> Paragraphs:
    counters = f"helpful {bullet.helpful} · harmful {bullet.harmful} · neutral {bullet.neutral}"
    return Paragraphs((bullet.content, ""), (counters, "dim"))


_COMMAND = re.compile(r"/([A-Za-z?]\w*)(?:\s+(.*))?", re.DOTALL)
"""A path such as '/etc/hosts' has a second slash, so it is not a command."""


class TypedCommand(NamedTuple):
    """A slash command as typed."""

    name: str
    argument: str


@dataclass(frozen=True)
class CommandContext:
    """The session, screen and attachments that a command works on."""

    turns: TurnApi
    key: SessionKey
    screen: Screen
    desk: AttachmentDesk = field(default_factory=AttachmentDesk)


@dataclass(frozen=True)
class Command:
    """A command's handler and its line in `/help`."""

    help: str
    run: Callable[[CommandContext], Awaitable[None]] | None = None
    run_with: Callable[[CommandContext, str], Awaitable[None]] | None = None
    """Handler of a command with an argument."""


def parse_command(line: str) -> TypedCommand | None:
    """Parse a command; None when the line is text for the agent."""
    match = _COMMAND.fullmatch(line.strip())
    return TypedCommand(match[1].lower(), (match[2] or "").strip()) if match else None


def plain_text(line: str) -> str:
    """The text for the agent; a leading '//' is an escaped '/', as in '//ccs'."""
    return line[1:] if line.startswith("//") else line


async def run_command(spoken: TypedCommand, place: CommandContext) -> bool:
    """Run a command; False on `/quit`. Raises InputError for an unknown one."""
    command = COMMANDS.get(spoken.name)
    if command is None:
        raise InputError(_unknown(spoken.name))
    if command.run_with is not None:
        await command.run_with(place, spoken.argument)
        return True
    if spoken.argument:
        raise InputError(
            f"/{spoken.name} takes no argument; to send this line as text, start it with //"
        )
    if command.run is not None:
        await command.run(place)
    return command.run is not None


def _unknown(name: str) -> str:
    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean /{near[0]}?" if near else "/help lists the commands."
    return f"/{name} is not a command; {hint} To send it as text, start it with //"


async def _ccs(place: CommandContext) -> None:
    state = await place.turns.state(place.key)
    if state is None:
        place.screen.notice("no state yet: it is empty before the first turn")
    else:
        place.screen.view(ccs_view(state))


async def _diff(place: CommandContext) -> None:
    entries = await place.turns.history(place.key, limit=1)
    if entries:
        place.screen.view(diff_view(entries[0]))
    else:
        place.screen.notice("no changes yet")


async def _playbook(place: CommandContext) -> None:
    place.screen.view(playbook_view(await place.turns.playbook()))


async def _rules(place: CommandContext, words: str) -> None:
    rules = place.turns.rules
    if words:
        await rules.check(place.key, *read_check(words))
    state = await rules.state(place.key)
    place.screen.view(rules_view(state, await place.turns.checks(state.pins)))


async def _rule(place: CommandContext, words: str) -> None:
    wanted = read_rule(words)
    place.screen.notice(
        added_line(await place.turns.rules.pin(place.key, wanted.text, wanted.scope))
    )


async def _forget(place: CommandContext, words: str) -> None:
    if artifacts := read_artifacts(words):
        erased = await place.turns.erase_artifacts(place.key.tenant, artifacts)
        for line in erased_lines(erased):
            place.screen.notice(line)
        return
    for rule_id in read_ids(words):
        place.screen.notice(lifted_line(await place.turns.rules.forget(place.key, rule_id)))


async def _paste(place: CommandContext) -> None:
    place.desk.begin_paste()
    place.screen.notice("paste now; a line with only a dot ends it, Ctrl-C drops it")


async def _attach(place: CommandContext, path: str) -> None:
    place.screen.notice(place.desk.attach_file(path) if path else place.desk.listed())


async def _detach(place: CommandContext) -> None:
    place.desk.take()
    place.screen.notice("nothing is attached")


async def _good(place: CommandContext, words: str) -> None:
    await _judge(place, Judgement(thumbs="up", comment=_comment(words)))


async def _bad(place: CommandContext, words: str) -> None:
    await _judge(place, Judgement(thumbs="down", comment=_comment(words)))


def _comment(words: str) -> str | None:
    if len(words) > MAX_WORDS:
        raise InputError(f"a comment has at most {MAX_WORDS:,} characters, not {len(words):,}")
    return words or None


async def _judge(place: CommandContext, judgement: Judgement) -> None:
    """Give feedback on the last answer, and report what was learned from it."""
    state = await place.turns.state(place.key)
    if state is None or state.turn == 0:
        place.screen.notice("no answer to rate yet")
        return
    report = await place.turns.feedback(place.key, state.turn, judgement)
    applied = sum(delta.status == "applied" for delta in report.deltas)
    if not report.fresh:
        place.screen.notice(f"turn {report.turn} already has this feedback")
    elif report.learned:
        place.screen.notice(f"saved with turn {report.turn}; changes to the playbook: {applied}")
    else:
        place.screen.notice(f"saved with turn {report.turn}; not learned from yet")


async def _undo(place: CommandContext) -> None:
    state = await place.turns.undo(place.key)
    place.screen.notice(f"undone; the state is back at turn {state.turn}")


async def _reset(place: CommandContext) -> None:
    await place.turns.reset(place.key)
    place.screen.notice("the state was cleared; evidence and playbook are kept")


async def _help(place: CommandContext) -> None:
    rows = ((f"/{name}", Text(command.help)) for name, command in COMMANDS.items())
    place.screen.view(named_values(rows))


COMMANDS: dict[str, Command] = {
    "ccs": Command("show the compressed cognitive state", _ccs),
    "diff": Command("show what the last turn changed", _diff),
    "rules": Command(
        "show the rules, what they do at tools, and open questions; to correct a check: "
        "/rules ID TOOL: off, ask, stop, ARGUMENT > 30 EUR, or nothing for what the rule says",
        run_with=_rules,
    ),
    "rule": Command(
        "add a rule: /rule TEXT, or /rule always TEXT for every session", run_with=_rule
    ),
    "forget": Command("lift a rule, or delete a piece of memory: /forget ID", run_with=_forget),
    "paste": Command("attach the lines that follow, up to a line '.'", _paste),
    "attach": Command("attach a text file: /attach FILE; without a file, list", run_with=_attach),
    "detach": Command("remove the attachments", _detach),
    "playbook": Command("show the playbook", _playbook),
    "good": Command("rate the last answer as good; a comment may follow", run_with=_good),
    "bad": Command("rate the last answer as bad; say what was wrong", run_with=_bad),
    "undo": Command("undo the last turn, or the last /rule or /forget", _undo),
    "reset": Command("clear the state of this session", _reset),
    "help": Command("show this help", _help),
    "quit": Command("exit (also Ctrl-D); the session is kept"),
}
"""All commands, in the order of `/help`. One without a handler exits."""
