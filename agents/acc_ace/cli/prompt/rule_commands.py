"""`/rules`, `/rule` and `/forget`: show and change the rules of a session."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.text import Text

from acc_ace.cli.output import Paragraphs, named_values
from acc_ace.core.gates.commands import Erase, Forget, Pin, parse_command
from acc_ace.core.gates.consent_notes import question_text
from acc_ace.core.schemas.commit import CommittedState, ConstraintPin, RuleScope
from acc_ace.core.schemas.report import ReportedCheck
from acc_ace.core.text.normalize import language_of
from acc_ace.errors import InputError


def rules_view(
    state: CommittedState, checks: Mapping[str, list[ReportedCheck]] = MappingProxyType({})
) -> RenderableType:
    """Each rule with its origin and checks; then open questions; then what is not kept."""
    number = len(state.pins)
    title = Text(f"{number} rule{'' if number == 1 else 's'} after turn {state.turn}", "dim")
    if not (state.pins or state.questions or state.not_kept):
        return Group(title, Text("none yet: /rule TEXT makes one"))
    rows = [(pin.id, Paragraphs(*_rule(pin, checks.get(pin.id, [])))) for pin in state.pins]
    rows += [(label, Paragraphs((text, "yellow"))) for label, text in _questions(state)]
    for each in state.not_kept:
        said = (f"turn {each.turn}; /rule TEXT keeps it", "dim")
        rows.append(("not kept", Paragraphs((each.text, ""), said)))
    return Group(title, named_values(rows))


def read_rule(words: str) -> Pin:
    """The rule after `/rule`. Raises InputError when there is none."""
    command = parse_command(f"/rule {words}")
    if not isinstance(command, Pin):
        raise InputError(
            "give the rule's text: '/rule TEXT' for this session, '/rule always TEXT' for "
            "every session of this user; at most 4,000 characters"
        )
    return command


def read_ids(words: str) -> Sequence[str]:
    """The ids of rules after `/forget`. Raises InputError when there is none."""
    command = parse_command(f"/forget {words}")
    if not isinstance(command, Forget):
        raise InputError("name the rule to lift by its id, as in '/forget c-0001'; see /rules")
    return command.rule_ids


def read_artifacts(words: str) -> Sequence[str]:
    """The ids of artifacts after `/forget`, if it names such."""
    command = parse_command(f"/forget {words}")
    return command.artifact_ids if isinstance(command, Erase) else ()


def read_check(words: str) -> tuple[str, str, str]:
    """The rule, the tool and what it does there, after `/rules`. Raises InputError."""
    match = re.fullmatch(r"(\S+) +([^:]+):\s*(.*)", words)
    if match is None:
        raise InputError(
            "name the rule, the tool and what is to happen, as in '/rules c-0001 refund: off' "
            "or '/rules c-0001 refund: amount > 30 EUR'"
        )
    return match[1].lower(), match[2].strip(), match[3].strip()


def added_line(pin: ConstraintPin) -> str:
    """The reply to `/rule`."""
    where = " (in every session)" if pin.scope is RuleScope.USER else ""
    return f"+ {pin.id} {pin.text}{where}"


def lifted_line(pin: ConstraintPin) -> str:
    """The reply to `/forget`."""
    return f"- {pin.id} lifted: {pin.text} (/undo restores it)"


def settled_lines(before: CommittedState, after: CommittedState) -> Sequence[str]:
    """What an answer to a question has changed."""
    had, has = ({pin.id for pin in state.pins} for state in (before, after))
    lifted = [pin for pin in before.pins if pin.id not in has]
    added = [pin for pin in after.pins if pin.id not in had]
    lines = [*map(lifted_line, lifted), *map(added_line, added)]
    goal = after.ccs.goal_orientation
    return [*lines, f"goal: {goal}"] if goal != before.ccs.goal_orientation else lines


def _rule(pin: ConstraintPin, checks: Sequence[ReportedCheck]) -> Iterator[tuple[str, str]]:
    yield (pin.text, "")
    if pin.quote != pin.text:
        yield (f"said: {pin.quote}", "dim")
    scope = "every session" if pin.scope is RuleScope.USER else "this session"
    provisional = f", provisional (no {pin.id} takes it back)" if pin.tentative else ""
    yield (f"{pin.authority.value}, turn {pin.origin_turn}, {scope}{provisional}", "dim")
    for check in checks:
        yield (check.text, "cyan")


def _questions(state: CommittedState) -> Iterator[tuple[str, str]]:
    for question in state.questions:
        yield question.id, question_text(question, state.pins, language_of(question.quote))
