"""Changes of rules outside of a turn: an owner's pin, forget and answer; a host's founding.

Each change is one transaction over the session's state and the user-wide rules.
"""

from collections.abc import Callable, Sequence

from pydantic import ValidationError

from acc_ace.container import Container
from acc_ace.core.gates.ccs_budget import rule_1_bounded
from acc_ace.core.gates.consent_notes import no_change_notes, not_kept
from acc_ace.core.gates.constraints import (
    ConstraintSet,
    forget_rules,
    make_rule,
    set_checks,
    settle_question,
)
from acc_ace.core.gates.goal import agreed_goal, goal_pin
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    ConstraintPin,
    GoalPin,
    JournalEntry,
    RuleScope,
    ToolCheck,
)
from acc_ace.core.text.arguments import checked_entries
from acc_ace.core.text.normalize import has_words
from acc_ace.core.text.redaction import mask_secrets
from acc_ace.errors import ForbiddenError, InputError, NotFoundError
from acc_ace.turn.transcript import unread_turns
from acc_ace.turn.turn_commit import user_rules_write

MAX_RULE_CHARS = 4_000
MAX_CHECKS = 16

Change = Callable[[ConstraintSet], None]


async def with_user_rules(
    container: Container, key: SessionKey, state: CommittedState
) -> CommittedState:
    """The state with the user-wide rules brought up to date."""
    return ruled(state, *await container.user_rules.of_user(key.tenant))


def ruled(state: CommittedState, rules: Sequence[ConstraintPin], number: int) -> CommittedState:
    """The state with these user-wide rules, the next of which gets a number."""
    state = state.model_copy(update={"next_user_pin": number})
    own = [pin for pin in state.pins if pin.scope is not RuleScope.USER]
    pins = [*rules, *own]
    if pins == list(state.pins):
        return state
    ids = {None, *(pin.id for pin in pins)}
    questions = [question for question in state.questions if question.rule_id in ids]
    ccs = state.ccs.model_copy(update={"constraints": [pin.text for pin in pins]})
    return state.model_copy(update={"pins": pins, "ccs": ccs, "questions": questions})


@checked_entries
class RuleService:
    """Changes a session's rules for its owner. Every method raises StoreError."""

    def __init__(self, container: Container) -> None:
        self._container = container

    async def state(self, key: SessionKey) -> CommittedState:
        """The session's state with its rules and open questions; CCS_0 before its first turn."""
        head = await self._container.journal.head(key)
        return await with_user_rules(self._container, key, head.state if head else CommittedState())

    async def unread(self, key: SessionKey, state: CommittedState) -> int:
        """How many messages of the user's no CCM has read, as of this state."""
        return await unread_turns(self._container, key, state)

    async def pin(self, key: SessionKey, text: str, scope: RuleScope) -> ConstraintPin:
        """Pin a text as a rule; returns the active one when it has the same words.

        Raises InputError for a text without words or one that is too long, ConstraintBudgetError.
        """
        _check_length(text)
        if self._container.settings.mask_secrets:
            text = mask_secrets(text)
        pinned: list[ConstraintPin] = []

        def change(rules: ConstraintSet) -> None:
            make_rule(rules, text, text, Authority.USER, scope)
            _raise(no_change_notes(rules), ForbiddenError)
            pin = rules.find(rules.active(text))
            if pin is None:
                raise InputError("the rule has no words; write what must hold")
            pinned.append(pin)

        await self._change(key, change)
        return pinned[0]

    async def found(self, key: SessionKey, *, goal: str, rules: Sequence[str]) -> CommittedState:
        """Set a session's goal and rules with system authority, in one journal entry.

        No text of the user or of a tool changes them. A session rule with the same words is
        raised to system authority; done again, nothing changes. Raises InputError for a text
        without words or one that is too long, ConstraintBudgetError.
        """
        for text in (goal, *rules):
            _check_length(text)
            if not has_words(text):
                raise InputError("a goal or rule has no words; write what must hold")
        system = Authority.SYSTEM
        pin = goal_pin(goal, system, 0, self._container.settings.limits)

        def change(known: ConstraintSet) -> None:
            for text in rules:
                known.pin(text, text, system)
                old = known.find(known.active(text))
                if old and old.scope is RuleScope.SESSION and old.authority.rank < system.rank:
                    raised = old.model_copy(update={"authority": system})
                    known.pins[known.pins.index(old)] = raised
                    known.added.append(raised)

        return await self._change(key, change, goal=pin)

    async def forget(self, key: SessionKey, rule_id: str) -> ConstraintPin:
        """Release a rule and return it.

        Raises NotFoundError, or ForbiddenError for a rule of system authority.
        """
        released: list[ConstraintPin] = []

        def change(rules: ConstraintSet) -> None:
            pin = rules.find(rule_id)
            forget_rules(rules, [rule_id], f"/forget {rule_id}", Authority.USER)
            _raise(no_change_notes(rules), ForbiddenError if pin else NotFoundError)
            released.extend([pin] if pin else [])

        await self._change(key, change)
        return released[0]

    async def check(self, key: SessionKey, rule_id: str, tool: str, does: str) -> ConstraintPin:
        """Replace what a rule does at a tool, as ToolCheck says; '' is what the rule says again.

        Only a consent surface calls it: a check may be looser than its rule. Raises InputError,
        NotFoundError, or ForbiddenError for a rule of system authority.
        """
        result: list[ConstraintPin] = []

        def change(rules: ConstraintSet) -> None:
            pin = rules.find(rule_id)
            others = [each for each in pin.checks if each.tool != tool] if pin else []
            checks = [*others, _tool_check(tool, does)] if does else others
            if len(checks) > MAX_CHECKS:
                raise InputError(f"a rule has at most {MAX_CHECKS} checks of a person's own")
            set_checks(rules, rule_id, checks, f"{rule_id} {tool}: {does}", Authority.USER)
            _raise(no_change_notes(rules), ForbiddenError if pin else NotFoundError)
            result.extend(each for each in rules.pins if each.id == rule_id)

        await self._change(key, change)
        return result[0]

    async def answer(self, key: SessionKey, question_id: str, *, yes: bool) -> CommittedState:
        """Settle an open question.

        Raises NotFoundError when it lapsed or was answered, ForbiddenError when it concerns a
        rule of system authority, ConstraintBudgetError.
        """

        def change(rules: ConstraintSet) -> None:
            is_open = any(question.id == question_id for question in rules.questions)
            settle_question(rules, question_id, yes=yes, authority=Authority.USER)
            _raise(no_change_notes(rules), ForbiddenError if is_open else NotFoundError)

        return await self._change(key, change)

    async def _change(
        self, key: SessionKey, change: Change, *, goal: GoalPin | None = None
    ) -> CommittedState:
        container = self._container
        wait_s = container.settings.limits.turn_wait_s
        async with container.lock.hold(key, wait_s=wait_s):
            head = await container.journal.head(key)
            previous = head.state if head else CommittedState()
            current = await with_user_rules(container, key, previous)
            rules = ConstraintSet.of(current, turn=current.turn)
            change(rules)
            is_same = goal is None or goal == current.goal_pin
            is_same = is_same and not (rules.added or rules.released)
            if is_same and rules.questions == current.questions:
                return current
            goal = goal or agreed_goal(rules, Authority.USER, container.settings.limits)
            state = self._changed(current, rules, goal)
            diff = CcsDiff.between(previous, state, added=rules.added, released=rules.released)
            entry = JournalEntry(
                kind=CommitKind.RULES,
                state=state,
                diff=diff,
                invocation_id="",
                created_at=container.clock.now(),
            )
            work = container.unit_of_work()
            work.add(container.journal.append_write(key, entry, expected_version=previous.version))
            if write := user_rules_write(container, key, diff):
                work.add(write)
            work.add(container.directory.open_write(key, at=container.clock.now()))
            await work.commit()
            return state

    def _changed(
        self, current: CommittedState, rules: ConstraintSet, goal: GoalPin | None
    ) -> CommittedState:
        limits = self._container.settings.limits
        update: dict[str, object] = {"constraints": [pin.text for pin in rules.pins]}
        if goal is not None:
            update["goal_orientation"] = goal.text
        fitted = rule_1_bounded(
            current.ccs.model_copy(update=update),
            rules.pins,
            added=rules.added,
            shrinks=rules.shrinks or not rules.added,
            limits=limits,
        )
        return current.model_copy(
            update={
                "version": current.version + 1,
                "ccs": fitted.ccs,
                "pins": rules.pins,
                "next_pin": rules.next_pin,
                "questions": rules.questions,
                "next_question": rules.next_question,
                "next_user_pin": rules.next_user_pin,
                "not_kept": not_kept(current, rules),
                "goal_pin": goal or current.goal_pin,
            }
        )


def _tool_check(tool: str, does: str) -> ToolCheck:
    try:
        return ToolCheck(tool=tool, does=does)
    except ValidationError as error:
        raise InputError(
            f"'{does[:100]}' is no check of a tool: give 'off', 'ask', 'stop', or when a call is "
            "stopped, as 'amount > 30 EUR' or 'branch = main'"
        ) from error


def _check_length(text: str) -> None:
    if len(text) > MAX_RULE_CHARS:
        raise InputError(f"a rule has at most {MAX_RULE_CHARS:,} characters, not {len(text):,}")


def _raise(warnings: Sequence[str], error: type[ForbiddenError] | type[NotFoundError]) -> None:
    if warnings:
        raise error(warnings[0])
