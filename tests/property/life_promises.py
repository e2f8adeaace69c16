"""What must be true of users and their sessions, told by words that occur once."""

from dataclasses import dataclass, field

from acc_ace import Container
from acc_ace.adk.artifact_services import memory_service
from acc_ace.conversation import APP_NAME, Conversation
from schemas.base import SessionKey, Tenant
from schemas.commit import JournalEntry
from schemas.interaction import Interaction, Outcome
from tests.property.life_model import LifeModel, words_in

USERS = ("aiko", "ben")


UNANSWERED = {"of a turn without an answer", "of a turn that found the session busy"}
"""Why words stand in no state, though they were said."""


@dataclass(frozen=True)
class Version:
    """What a version of a session's state must stand on."""

    turn: int = 0
    stands: tuple[str, ...] = ()
    """Words of its turns, in order."""
    rules: frozenset[str] = frozenset()
    before: int = 0


@dataclass
class Told:
    """A session as it must be."""

    key: SessionKey
    head: int = 0
    versions: dict[int, Version] = field(default_factory=lambda: {0: Version()})
    words: set[str] = field(default_factory=set)
    unfinished: bool = False
    """It went back half-way; the next thing that it does finishes that."""

    @property
    def now(self) -> Version:
        """What its head stands on."""
        return self.versions[self.head]

    def goes_on(self, entry: JournalEntry | None, version: Version) -> None:
        """Make what the journal's head is the head."""
        assert entry is not None
        self.head = entry.state.version
        self.versions[self.head] = version

    def before_last_turn(self) -> int:
        """The version that an undo goes back to."""
        at = self.head
        while at and self.versions[at].turn >= self.now.turn:
            at = self.versions[at].before
        return at


class Promises:
    """Keeps what must be, and compares it with what is."""

    container: Container
    conversation: Conversation

    def __init__(self) -> None:
        self.model = LifeModel()
        self.sessions: dict[SessionKey, Told] = {}
        self.whose: dict[str, str] = {}
        """The user of each word."""
        self.dead: dict[str, str] = {}
        """Words that no recall and no request may show, and why."""
        self.gone: set[str] = set()
        """Dead words that nothing may hold at all."""
        self.kept: set[str] = set()
        """Preferences of deleted sessions that their user let stay."""
        self.preferences: set[str] = set()
        self.shared: set[str] = set()
        """Words that another session of their user has read, whose state may quote them."""
        self.unsure: set[str] = set()
        """Words of a process that was killed before it could write, or delete, all of them."""

    async def check(self) -> None:
        """Compare what is there with what must be."""
        for reported in self.sessions.values():
            await self._check_session(reported)
        await self._check_recall()

    async def check_gone(self) -> None:
        """No export holds a word of what was deleted."""
        for user in USERS:
            records = [record async for record in self.conversation.export(Tenant(APP_NAME, user))]
            for word in self.gone & set(self._words_of(user)):
                held = [each for each in records if word in str(each)]
                assert not held, f"{word} ({self.dead[word]}) is exported: {held}"

    async def _check_session(self, reported: Told) -> None:
        head = await self._head(reported)
        if head is None:
            assert not reported.head
            return
        assert (head.state.version, head.state.turn) == (reported.head, reported.now.turn)
        rules = " ".join(head.state.ccs.constraints)
        held = {word for word in reported.words if word in rules}
        assert held == reported.now.rules, f"rules are {held}, must be {reported.now.rules}"
        history = await self.container.journal.history(reported.key, limit=500)
        numbers = [entry.state.version for entry in history]
        assert numbers == list(range(len(numbers), 0, -1))
        if reported.unfinished:
            return
        turns = reversed(await self._evidence(reported))
        answered = [turn for turn in turns if turn.outcome is Outcome.ANSWERED]
        stands = tuple(word for turn in answered for word in words_in(turn.input.text))
        assert stands == reported.now.stands, f"turns are {stands}, must be {reported.now.stands}"
        if reported.now.turn:
            assert await self.container.directory.find(reported.key) is not None

    async def _check_recall(self) -> None:
        open_words = self._half_undone()
        for word, why in [*self.dead.items()][-20:]:
            if word not in open_words | self.unsure:
                assert word not in await self._recalled(word), f"{word} ({why}) is recalled"
        for reported in self.sessions.values():
            for word in reported.now.stands[-3:]:
                if word not in open_words | self.unsure:
                    assert word in await self._recalled(word), f"{word} stands, and is not recalled"
        for word in self.kept:
            assert word in await self._recalled(word), f"{word} was kept, and is gone"

    def _half_undone(self) -> set[str]:
        return {
            word
            for reported in self.sessions.values()
            if reported.unfinished
            for word in reported.words
        }

    def _check_requests(self, reported: Told, *, shows_rules: bool) -> None:
        for text in self.model.seen:
            # A word that a clip has cut in two is nobody's.
            shown = set(words_in(text)) & self.whose.keys()
            others = {word for word in shown if self.whose[word] != reported.key.user}
            assert not others, f"words of somebody else in a request: {others}"
            checked = shown - self.shared - self._half_undone()
            # What the user said stands until it is read, also where no answer came.
            dead = {
                word: self.dead[word]
                for word in checked
                if self.dead.get(word, "of a turn without an answer") not in UNANSWERED
            }
            assert not dead, f"in a request: {dead}"
            if shows_rules:
                assert reported.now.rules <= shown, (
                    f"rules {reported.now.rules - shown} are not shown"
                )

    async def _recalled(self, word: str) -> str:
        service = memory_service(self.container)
        found = await service.search_memory(app_name=APP_NAME, user_id=self.whose[word], query=word)
        return str([memory.content for memory in found.memories])

    async def _head(self, reported: Told) -> JournalEntry | None:
        return await self.container.journal.head(reported.key)

    async def _evidence(self, reported: Told) -> list[Interaction]:
        return list(await self.container.evidence.list(reported.key, limit=500))

    async def _is_answered(self, reported: Told, word: str) -> bool:
        return any(
            word in turn.input.text and turn.outcome is Outcome.ANSWERED
            for turn in await self._evidence(reported)
        )

    def _new_word(self, reported: Told) -> str:
        number = len(self.whose)
        word = f"zor{chr(97 + number // 26)}{chr(97 + number % 26)}x"
        self.whose[word] = reported.key.user
        reported.words.add(word)
        return word

    def _words_of(self, user: str) -> list[str]:
        return [word for word, whose in self.whose.items() if whose == user]
