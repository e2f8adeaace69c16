"""What a client may do with the memory of one user, over the surfaces that every driver has.

A client is an agent. What it notes, or relays of its user, is evidence of a tool's authority. Only
a person's own word makes, changes or lifts a rule.
"""

from typing import Final, Literal

from acc_ace.adk.turn_report import reported_questions
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.controller import AccController
from acc_ace.core.gates.ccs_budget import render_ccs
from acc_ace.core.gates.commands import parse_command
from acc_ace.core.playbook.bullet_lookup import search_bullets
from acc_ace.core.playbook.rule_screen import screened
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.bullet import prompt_line
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.text.rules.reading import read_user_words
from acc_ace.ext.mcp.answers import (
    LessonsNow,
    Recalled,
    Remembered,
    RulesNow,
    StateNow,
    WaitingChange,
    rules_of,
)
from acc_ace.ext.mcp.rule_changes import RuleChangeWanted
from acc_ace.memory.memory_search import search_memory
from acc_ace.turn.rule_service import RuleService

Speaker = Literal["agent", "user"]

_RELAYED: Final = {"agent": "", "user": "Relayed as the user's: "}
_NO_RULE: Final = "it is no rule yet; 'rules' with the action 'propose' asks the person to make it"


class MemoryOfAll:
    """The stores and models of a process; `of` is one user's part of them."""

    def __init__(self, settings: Settings) -> None:
        """Raises ConfigError or StoreError."""
        self.container = build_container(settings)
        self.models = self.container.parts.build_models(("qualifier", "compressor"), settings, {})

    def of(self, app: str, user: str, session: str) -> "UserMemory":
        """The memory of a user, as of one session."""
        return UserMemory(self, SessionKey(app, user, session))

    async def close(self) -> None:
        """Close the models' connections and the stores."""
        await self.container.parts.close_models(self.models.values())
        await self.container.close()


class _Noted:
    """Decides for a client, which acts elsewhere: the turn is kept without an answer."""

    async def decide(self, state: CommittedState, x_t: TurnInput) -> GeneratorOutput:
        """No words: the client keeps its answer."""
        return GeneratorOutput(final_answer="")


class UserMemory:
    """The memory of one user. Every method raises StoreError."""

    def __init__(self, memory: MemoryOfAll, key: SessionKey) -> None:
        self._memory, self._container, self.key = memory, memory.container, key
        self._rules = RuleService(memory.container)

    async def state(self) -> CommittedState:
        """The session's state; CCS_0 before its first turn."""
        return await self._rules.state(self.key)

    async def remember(self, text: str, speaker: Speaker) -> Remembered:
        """Keep a text as a turn of the session, in one commit, as evidence whoever speaks.

        Raises InputError, ModelError, SessionBusyError.
        """
        models = self._memory.models
        controller = AccController(self._container, **self.key._asdict(), models=models)
        x_t = TurnInput(text=f"{_RELAYED[speaker]}{text}", authority=Authority.TOOL)
        (turn,) = await controller.run_turns([x_t], _Noted())
        state = turn.entry.state
        is_rule = speaker == "user" and _seems_to_rule(text, state)
        notes = [*controller.notes, *([_NO_RULE] if is_rule else [])]
        return Remembered(turn=state.turn, notes=notes, waiting=_waiting(state))

    async def recall(self, query: str, limit: int) -> Recalled:
        """What memory holds of a query. Raises InputError for a blank one."""
        result = await search_memory(self._container, self.key.tenant, query, limit=limit)
        hits = [hit for hit in result.hits if hit.refusal is None]
        rules = rules_of(await self.state())
        return Recalled(evidence=hits, rules=rules, warnings=result.warnings)

    async def state_now(self) -> tuple[str, StateNow]:
        """The state as a model reads it, and as a value."""
        state = await self.state()
        rules, waiting = rules_of(state), _waiting(state)
        text = "\n".join([render_ccs(state), *(f"waiting: {each.text}" for each in waiting)])
        numbers = {"turn": state.turn, "version": state.version}
        return text, StateNow(**numbers, state=state.ccs, rules=rules, waiting=waiting)

    async def playbook(self, query: str, limit: int) -> LessonsNow:
        """The lessons that match best; for a blank query all, oldest first."""
        app, user, _ = self.key
        stored = await self._container.playbooks.load(self._container.playbook_scope(app, user))
        playbook = stored.playbook.shown_to(user)
        hits = search_bullets(playbook, query, limit=limit)
        bullets = [hit.bullet for hit in hits] if query.strip() else playbook.bullets
        lessons = screened(bullets, (await self.state()).pins)[0][:limit]
        return LessonsNow(version=stored.version, lessons=[*map(prompt_line, lessons)])

    async def rules_now(self, *notes: str, command: str = "") -> RulesNow:
        """The rules in force, with what a call did."""
        state = await self.state()
        rules, waiting = rules_of(state), _waiting(state)
        return RulesNow(notes=[*notes], rules=rules, waiting=waiting, command=command)

    async def change(self, wanted: RuleChangeWanted, *, yes: bool) -> RulesNow:
        """Do what the person said to a question.

        Raises NotFoundError, ForbiddenError for a rule of the system, ConstraintBudgetError.
        """
        if wanted.action == "answer":
            await self._rules.answer(self.key, wanted.id, yes=yes)
        if wanted.action == "answer" or not yes:
            return await self.rules_now(f"the person said {'yes' if yes else 'no'}")
        notes, gone = list[str](), wanted.id
        if wanted.action == "propose":
            pin = await self._rules.pin(self.key, wanted.rule, wanted.scope)
            notes.append(f"in force: {pin.id} {pin.text}")
            gone = "" if pin.id == gone else gone
        # A new wording holds before the old one goes, so that there is no moment without either.
        if gone:
            pin = await self._rules.forget(self.key, gone)
            notes.append(f"lifted: {pin.id} {pin.text}")
        return await self.rules_now(*notes)


def _waiting(state: CommittedState) -> list[WaitingChange]:
    """Open questions, oldest first."""
    return [WaitingChange(id=each.id, text=each.text) for each in reported_questions(state)]


def _seems_to_rule(text: str, state: CommittedState) -> bool:
    """Whether a message of the person's own would do something to the rules or the goal."""
    words = read_user_words(TurnInput(text=text), None, state.pins, questions=state.questions)
    return any(words[1:]) or parse_command(text) is not None
