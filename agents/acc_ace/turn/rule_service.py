"""Rules that an owner sees and corrects outside of a turn: pin, forget, answer a question.

Each change is one transaction: a new version of the session's state, and the user's own rules.
"""

from collections.abc import Callable, Sequence

from acc_ace.container import Container
from acc_ace.errors import ConflictError, InputError, NotFoundError
from acc_ace.gates.ccs_budget import rule_1_bounded
from acc_ace.gates.constraints import ConstraintSet, forget_rules, settle_question
from acc_ace.gates.goal import agreed_goal
from acc_ace.schemas.base import Authority, SessionKey
from acc_ace.schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    ConstraintPin,
    JournalEntry,
    RuleScope,
)
from acc_ace.turn.turn_commit import user_rules_write

MAX_RULE_CHARS = 4_000

Change = Callable[[ConstraintSet], None]


async def with_user_rules(
    container: Container, key: SessionKey, state: CommittedState
) -> CommittedState:
    """The state with the rules that hold in every session of its user, as they are now."""
    rules = await container.user_rules.list(key.tenant)
    own = [pin for pin in state.pins if pin.scope is not RuleScope.USER]
    pins = [*rules, *own]
    if pins == list(state.pins):
        return state
    constraints = [pin.text for pin in pins]
    ccs = state.ccs.model_copy(update={"constraints": constraints})
    return state.model_copy(update={"pins": pins, "ccs": ccs})


class RuleService:
    """Changes the rules of a session on its owner's word. Raises StoreError everywhere."""

    def __init__(self, container: Container) -> None:
        self._container = container

    async def state(self, key: SessionKey) -> CommittedState:
        """The session's state with its rules and open questions; CCS_0 before its first turn."""
        head = await self._container.journal.head(key)
        return await with_user_rules(self._container, key, head.state if head else CommittedState())

    async def pin(self, key: SessionKey, text: str, scope: RuleScope) -> ConstraintPin:
        """Make a rule of these words; the one that is active already if they are the same.

        Raises InputError for a text without words or one that is too long, ConstraintBudgetError.
        """
        if len(text) > MAX_RULE_CHARS:
            raise InputError(f"the rule has {len(text):,} characters, at most {MAX_RULE_CHARS:,}")

        def change(rules: ConstraintSet) -> None:
            pinned = rules.pin(text, text, Authority.USER, scope=scope) or rules.active(text)
            if pinned is None:
                raise InputError("the rule has no words; write what must hold")

        state = await self._change(key, change)
        pin = ConstraintSet.of(state, turn=state.turn)
        return pin.find(pin.active(text)) or _gone(text)

    async def forget(self, key: SessionKey, rule_id: str) -> CommittedState:
        """Lift a rule. Raises NotFoundError, or InputError for a rule of system authority."""

        def change(rules: ConstraintSet) -> None:
            known = rules.find(rule_id) is not None
            forget_rules(rules, [rule_id], f"/forget {rule_id}", Authority.USER)
            _raise(rules.warnings, InputError if known else NotFoundError)

        return await self._change(key, change)

    async def answer(self, key: SessionKey, question_id: str, *, yes: bool) -> CommittedState:
        """Settle an open question. Raises NotFoundError when it lapsed or was answered."""

        def change(rules: ConstraintSet) -> None:
            settle_question(rules, question_id, yes=yes, authority=Authority.USER)
            _raise(rules.warnings, NotFoundError)

        return await self._change(key, change)

    async def _change(self, key: SessionKey, change: Change) -> CommittedState:
        container = self._container
        wait_s = container.settings.limits.turn_wait_s
        async with container.lock.hold(key, wait_s=wait_s):
            head = await container.journal.head(key)
            previous = head.state if head else CommittedState()
            current = await with_user_rules(container, key, previous)
            rules = ConstraintSet.of(current, turn=current.turn)
            change(rules)
            state = self._changed(current, rules)
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
            memory = container.settings.memory
            work.add(container.directory.open_write(key, at=container.clock.now(), memory=memory))
            await work.commit()
            return state

    def _changed(self, current: CommittedState, rules: ConstraintSet) -> CommittedState:
        limits = self._container.settings.limits
        goal = agreed_goal(rules, Authority.USER, limits)
        update: dict[str, object] = {"constraints": [pin.text for pin in rules.pins]}
        if goal is not None:
            update["goal_orientation"] = goal.text
        fitted = rule_1_bounded(
            current.ccs.model_copy(update=update),
            rules.pins,
            added=rules.added,
            shrinks=not rules.added,
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
                "goal_pin": goal or current.goal_pin,
            }
        )


def _raise(warnings: Sequence[str], error: type[InputError] | type[NotFoundError]) -> None:
    if warnings:
        raise error(warnings[0])


def _gone(text: str) -> ConstraintPin:
    raise ConflictError(f"the rule '{text[:80]}' was lifted in the same moment; pin it again")
