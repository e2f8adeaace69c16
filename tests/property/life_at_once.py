"""Two processes use one session at the same moment: it is as if one had come after the other."""

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Literal

from acc_ace import Conversation, build_container
from acc_ace.errors import AccAceError, ConflictError, NotFoundError, SessionBusyError
from config import ROLES
from schemas.base import SessionKey
from schemas.interaction import Outcome
from tests.property.life_model import words_in
from tests.property.life_promises import Told, Version
from tests.property.life_world import SAYS, World

What = Literal["note", "rule", "undo", "reset", "deletion"]

Seen = tuple[tuple[int, ...], tuple[str, ...], frozenset[str]]
"""Turns of a session's head and new versions, the words of its turns, and those of its rules.

The new versions say which act came first where the head would be the same.
"""


@dataclass
class Act:
    """Something that a process does with a session."""

    what: What
    word: str = ""
    is_done: bool = True


class SharedWorld(World):
    """A world in which a second process may come to a session."""

    async def two_at_once(self, reported: Told, *whats: What) -> None:
        """Do two things with a session in two processes at once; one may find it busy.

        Not with one that went back half-way: what finishes that would depend on who comes first.
        """
        if reported.unfinished:
            return
        acts = [Act(what, self._new_word(reported) if what in SAYS else "") for what in whats]
        reported.words -= {act.word for act in acts}
        self.model.begin("Noted.", fails=False)
        other = self._other_process()
        try:
            async with asyncio.TaskGroup() as group:
                for conversation, act in zip((self.conversation, other), acts, strict=True):
                    group.create_task(
                        _do(conversation, reported.key, act, gone="deletion" in whats)
                    )
        finally:
            await other.close()
        done, seen = [act for act in acts if act.is_done], await self._seen(reported)
        orders = [order for order in permutations(done) if self._expected(reported, order) == seen]
        assert orders, f"{reported} is {seen} after {acts}"
        self.dead |= {a.word: "of a turn that found the session busy" for a in acts if a.word}
        for act in orders[0]:
            self._took_place(self.sessions.setdefault(reported.key, Told(reported.key)), act)
        await self._others_forget(reported.key.tenant)
        await self._check_shown(reported.key, orders[0])

    def _other_process(self) -> Conversation:
        """It waits longer than the first one."""
        limits = self.settings.limits.model_copy(update={"turn_wait_s": 20.0})
        settings = self.settings.model_copy(update={"limits": limits})
        return Conversation(
            build_container(settings, self.clock), models=dict.fromkeys(ROLES, self.model)
        )

    async def _seen(self, reported: Told) -> Seen:
        head = await self._head(reported)
        history = await self.container.journal.history(reported.key, limit=500)
        new = [entry.state.turn for entry in history if entry.state.version > reported.head]
        turns = [
            turn
            for turn in reversed(await self._evidence(reported))
            if turn.outcome is Outcome.ANSWERED
        ]
        stands = tuple(word for turn in turns for word in words_in(turn.input.text))
        rules = " ".join(head.state.ccs.constraints) if head else ""
        return (head.state.turn if head else 0, *new), stands, frozenset(words_in(rules))

    def _expected(self, reported: Told, order: Sequence[Act]) -> Seen | None:
        """What is seen when acts came in an order; None when they cannot come so."""
        copy = deepcopy(reported)
        for act in order:
            if act.what == "deletion":
                copy = Told(reported.key)
            elif act.what == "undo" and not copy.now.turn:
                return None
            else:
                self._goes_on(copy, act)
        new = [copy.versions[at].turn for at in range(copy.head, reported.head, -1)]
        return (copy.now.turn, *new), copy.now.stands, copy.now.rules

    def _goes_on(self, reported: Told, act: Act) -> None:
        """Let a session go on by one version."""
        now = reported.now
        match act.what:
            case "undo":
                target = reported.before_last_turn()
                there = reported.versions[target]
                stands = tuple(word for word in there.stands if word in now.stands)
                after = replace(there, stands=stands, before=target)
            case "reset":
                if not reported.head:
                    return
                after = replace(now, rules=frozenset(), before=reported.head)
            case _:
                is_rule = act.what == "rule"
                rules = now.rules | ({act.word} if is_rule else set())
                after = Version(now.turn + 1, (*now.stands, act.word), rules, reported.head)
        reported.head += 1
        reported.versions[reported.head] = after

    def _took_place(self, reported: Told, act: Act) -> None:
        """Know of an act what must come of it."""
        if act.what == "deletion":
            self._forget(reported, keep=False)
            return
        left = set(reported.now.stands)
        reported.unfinished = False
        if act.word:
            reported.words.add(act.word)
            self.dead.pop(act.word)
        self._goes_on(reported, act)
        for word in left - set(reported.now.stands):
            self.dead[word] = "of a turn that was undone"

    async def _check_shown(self, key: SessionKey, order: Sequence[Act]) -> None:
        reported = self.sessions.get(key)
        if reported is None or not order or not order[-1].word:
            return
        self._check_requests(reported, shows_rules=len(order) == 1)
        shown = {
            word
            for text in (*self.model.seen, str(await self._head(reported)))
            for word in words_in(text)
        }
        self.shared |= shown - reported.words


async def _do(conversation: Conversation, key: SessionKey, act: Act, *, gone: bool) -> None:
    busy: tuple[type[AccAceError], ...] = (SessionBusyError,)
    if gone:
        # A turn that waited for a session does not begin another one.
        busy = (SessionBusyError, ConflictError)
    try:
        match act.what:
            case "undo":
                # The other one has deleted the session, or undone its only turn.
                busy = (*busy, NotFoundError)
                await conversation.undo(key)
            case "reset":
                await conversation.reset(key)
            case "deletion":
                await conversation.forget_session(key)
            case _:
                await conversation.turn(key, SAYS[act.what].format(act.word))
    except busy:
        act.is_done = False
