"""A world of users and sessions: it does what they do, and knows what must come of it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Literal

from acc_ace import build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import AccAceError, NotFoundError
from config import ROLES, Settings
from schemas.base import SessionKey, Tenant
from schemas.commit import CommitKind
from schemas.report import Answer
from tests.fakes.clock import FixedClock
from tests.fakes.residue import residue
from tests.property.failing_stores import FailingStores, Fault
from tests.property.life_model import Meanwhile, words_in
from tests.property.life_promises import USERS, Promises, Told, Version

Kind = Literal["note", "rule", "preference"]

SAYS: dict[Kind, str] = {
    "note": "Note that {} listens on port 4017.",
    "rule": "Never restart {} by day.",
    "preference": "I prefer {} over tabs.",
}

_LONG = "There is nothing more to say about it today. " * 40
"""Lets a few turns fill the room of a classic memory."""


class World(Promises):
    """Does what users do, and knows what must come of it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.clock = FixedClock()
        self.failing = FailingStores()
        self.open()

    def open(self) -> None:
        """Begin a process over the stores."""
        self.container = build_container(self.settings, self.clock)
        failing = self.failing.around(self.container)
        self.conversation = Conversation(
            failing,
            session_service=open_session_service(failing),
            models=dict.fromkeys(ROLES, self.model),
        )

    async def close(self) -> None:
        """End the process."""
        self.failing.plan(None)
        await self.conversation.close()

    async def restart(self) -> None:
        """End the process and begin another one."""
        await self.close()
        self.open()

    def reported(self, user: int, session: int) -> Told:
        """A session, new or not."""
        key = SessionKey(APP_NAME, USERS[user], f"s{session}")
        return self.sessions.setdefault(key, Told(key))

    def whose_words(self, text: str) -> Told | None:
        """The session whose words a text holds, if it still has a state."""
        words = set(words_in(text))
        return next((reported for reported in self.started() if reported.words & words), None)

    def started(self) -> list[Told]:
        """The sessions that have a state."""
        return [reported for reported in self.sessions.values() if reported.head]

    # Turns

    async def say(
        self,
        reported: Told,
        kind: Kind,
        *,
        more: str = "",
        fails: bool = False,
        leaves_after: int | None = None,
        fault: Fault | None = None,
    ) -> None:
        """Take a turn, however it ends."""
        word = self._new_word(reported)
        self.model.begin(f"Answer q{word}. {_LONG}", fails=fails)
        self.failing.plan(fault)
        answered = False
        error: BaseException | None = None
        events = self.conversation.stream(reported.key, SAYS[kind].format(word) + more)
        left = leaves_after
        try:
            async with aclosing(events):  # type: ignore[type-var]
                async for event in events:
                    answered = answered or isinstance(event, Answer)
                    if left is not None and (left := left - 1) < 0:
                        break
        except (AccAceError, asyncio.CancelledError) as raised:
            error = raised
        hit, dead = self.failing.hit, self.failing.dead
        await self._after_fault()
        stands = await self._is_answered(reported, word)
        if leaves_after is None and not hit:
            assert fails == (error is not None), f"failed with {error!r}"
            assert answered != fails
        assert stands or not answered, f"an answer was shown, and its turn does not stand; {hit}"
        is_lost = hit == "unit_of_work.commit"
        assert not stands or answered or leaves_after is not None or dead or is_lost, (
            f"a turn stands that was refused with {error!r}; {hit}"
        )
        if hit and not answered:
            self.unsure.add(word)
        pins = {word} if kind == "rule" else set()
        may_stay = dead or (bool(hit) and (fails or leaves_after is not None))
        await self._took(reported, word, pins, stands=stands, may_stay=may_stay)
        if kind == "preference" and stands:
            self.preferences.add(word)
        if stands:
            self._check_requests(reported, shows_rules=True)
        state = str(await self._head(reported))
        read = {word for text in (*self.model.seen, state) for word in words_in(text)}
        self.shared |= read - reported.words

    async def _took(
        self, reported: Told, word: str, pins: set[str], *, stands: bool, may_stay: bool
    ) -> None:
        head, now = await self._head(reported), reported.now
        after = Version(
            now.turn + 1,
            (*now.stands, word) if stands else now.stands,
            now.rules | pins,
            reported.head,
        )
        if stands:
            reported.unfinished = False
            # What a killed process had kept of the turn before can be recalled from now on.
            self.unsure.difference_update(now.stands[-1:])
            reported.goes_on(head, after)
            assert head is not None
            assert head.state.turn == after.turn
            return
        if may_stay and head is not None and head.state.turn == after.turn:
            # A cancellation does not say whether the turn stands (ADR 0005).
            reported.goes_on(head, after)
            return
        self.dead[word] = "of a turn without an answer"
        if head is not None and head.state.version != reported.head:
            reported.goes_on(
                head, replace(now, before=reported.head) if reported.head else Version()
            )

    # Going back, resets, deletions

    async def undo(self, reported: Told, fault: Fault | None = None, *, again: bool = True) -> None:
        """Take the last turn back."""
        turn, target = reported.now.turn, reported.before_last_turn()
        if turn:
            await self._back(
                reported,
                target,
                lambda: self.conversation.undo(reported.key, turn=turn),
                fault,
                again,
            )

    async def roll_back(
        self, reported: Told, pick: int, fault: Fault | None = None, *, again: bool = True
    ) -> None:
        """Go back, or forth, to some version."""
        known = [version for version in sorted(reported.versions) if version]
        target = known[pick % len(known)]
        await self._back(
            reported, target, lambda: self.conversation.rollback(reported.key, target), fault, again
        )

    async def reset(self, reported: Told, fault: Fault | None = None) -> None:
        """Begin with an empty state."""
        await self._done(lambda: self.conversation.reset(reported.key), fault)
        reported.unfinished = False
        reported.goes_on(
            await self._head(reported),
            replace(reported.now, rules=frozenset(), before=reported.head),
        )

    async def delete(self, reported: Told, *, keep: bool, fault: Fault | None) -> None:
        """Delete a session, with consent or without."""
        await self._done(
            lambda: self.conversation.forget_session(reported.key, keep_notes=keep), fault
        )
        self._forget(reported, keep=keep)
        await self._others_forget(reported.key.tenant)

    async def _others_forget(self, tenant: Tenant) -> None:
        """Know of the versions in which other sessions forget what rests on one that is deleted."""
        for other in self.sessions.values():
            head = await self._head(other) if other.key.tenant == tenant else None
            if head and head.kind is CommitKind.ERASE and head.state.version == other.head + 1:
                other.goes_on(head, replace(other.now, before=other.head))

    def _forget(self, reported: Told, *, keep: bool) -> None:
        for word in reported.words:
            if keep and word in self.preferences and word in reported.now.stands:
                self.kept.add(word)
            elif word not in self.kept:
                self.dead[word] = f"of a deleted session, keep={keep}"
                self.gone |= {word} - self.shared
        self.sessions.pop(reported.key)

    async def erase(self, user: str, fault: Fault | None = None) -> None:
        """Erase a user."""
        tenant = Tenant(APP_NAME, user)
        await self._done(lambda: self.conversation.erase(tenant), fault)
        assert await residue(self.conversation.container, tenant) == {}
        for reported in [
            reported for reported in self.sessions.values() if reported.key.tenant == tenant
        ]:
            self.sessions.pop(reported.key)
        for word in self._words_of(user):
            self.dead[word] = "of an erased user"
            self.gone.add(word)
            self.kept.discard(word)

    async def keep_house(
        self, fault: Fault | None = None, meanwhile: Meanwhile | None = None
    ) -> None:
        """Let an hour pass, and do the background work that is due."""

        async def work() -> None:
            await self.conversation.housekeep()

        self.clock.advance(hours=1)
        self.model.meanwhile(meanwhile)
        await self._done(work, fault)
        self.model.meanwhile(None)

    async def _back(
        self,
        reported: Told,
        target: int,
        work: Callable[[], Awaitable[object]],
        fault: Fault | None,
        again: bool,
    ) -> None:
        version = reported.head
        finished = await self._done(work, fault, again=again)
        head = await self._head(reported)
        assert head is not None
        if not finished and head.state.version == version:
            return  # It had not begun.
        left, there = set(reported.now.stands), reported.versions[target]
        # Of the turns that the state came of, those stand that were not retired since.
        stands = tuple(word for word in there.stands if word in left)
        for word in left - set(stands):
            self.dead[word] = "of a turn that was undone"
        # A state that is gone forth to may quote the others.
        self.shared |= set(there.stands) - left
        reported.goes_on(head, replace(there, stands=stands, before=target))
        assert head.state.turn == there.turn

    async def _done(
        self,
        work: Callable[[], Awaitable[object]],
        fault: Fault | None,
        *,
        again: bool = True,
    ) -> bool:
        """Do something that may fail at a fault, and if it did once more; whether it is done."""
        self.failing.plan(fault)
        try:
            await work()
            failed = self.failing.dead
        except (AccAceError, asyncio.CancelledError):
            if not self.failing.hit:
                raise
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            failed = True
        await self._after_fault()
        if not failed:
            return True
        if again:
            try:
                await work()
            except NotFoundError:
                return True  # Only the word of it was lost.
        return again

    async def _after_fault(self) -> None:
        dead = self.failing.dead
        self.failing.plan(None)
        if dead:
            await self.restart()
