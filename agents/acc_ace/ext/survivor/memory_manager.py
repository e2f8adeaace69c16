"""The Memory Manager (component 5): what a life has taught, as artifacts of the shared store.

The alert log has dangers (cause, condition, avoidance), the exploration log what things gave and
what is unexplored, the meta notes how an episode changed the policy. A cause that is met again
replaces its artifact, with a higher count. So a session has at most 25 artifacts: 15 alerts of what
was felt (ten kinds, two creatures, lava, hunger, thirst), MOST_SAID of what the thinker warned of,
and two of exploration; a run has one note and one mind. Alerts and exploration end with the
episode.
"""

from collections import Counter
from datetime import datetime
from typing import Final, Literal

from acc_ace.container import Container
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.survivor.core_thinker import LOG
from acc_ace.ext.survivor.exploration import ExplorationMap, Outlook
from acc_ace.ext.survivor.survival import LogEntry, Plan, StepRecord
from acc_ace.ext.survivor.world import Touch
from acc_ace.ext.survivor.world_rules import GAINS, KINDS, used_in

MOST_SAID: Final = 8
"""Warnings of the thinker about causes that the body has not felt; more replace the oldest."""

_ABOUT_CHARS, _SAID_TOKENS, _WANTED_TOKENS, _NOTE_TOKENS = 40, 40, 12, 56


class MemoryManager:
    """The logs of one episode; `take` gives what has changed."""

    def __init__(self, key: SessionKey) -> None:
        self._key = key
        self._entries: dict[str, LogEntry] = {}
        self._changed: dict[str, None] = {}
        self._lost: Counter[str] = Counter()
        self._warned, self._wanted = 0, ""
        self._lack = "thirst"
        """What is missing, or was last, first of both."""

    def step(self, record: StepRecord, before: Outlook) -> str:
        """Take in a step that was made, and the moment before it.

        Returns thirst or hunger when that took life, of both the one that was there first.
        """
        light = "by night" if before.is_night else "by day"
        levels = {"thirst": before.body.water, "hunger": before.body.food}
        empty = [name for name, left in levels.items() if not left]
        if self._lack not in empty:
            self._lack = next(iter(empty), self._lack)
        cause = ""
        if record.life < 0:
            cause = record.cause or self._lack
            self._lost[cause] += record.life
            count = self._times(f"alert:{cause}")
            text = f"life {self._lost[cause]} in {count} {'time' if count == 1 else 'times'}"
            self._put("alert", cause, f"{text}, last {light} in season {record.season}", count)
        kind = used_in(record.done)
        if kind and kind != cause:
            self._used(kind, record)
        return cause if cause == self._lack else ""

    def _used(self, kind: str, record: StepRecord) -> None:
        name = f"exploration:{kind}"
        effect, season, count = _gains(record), str(record.season), self._times(name)
        if not effect and name in self._entries:
            use, _, season = self._entries[name].text.rpartition(" in season ")
            effect = use.rpartition(", ")[0]
        text = f"{effect or 'nothing changed'}, used {count} in season {season}"
        self._put("exploration", kind, text, count)

    def watched(self, touch: Touch, season: int) -> None:
        """Note what a thing gave to somebody else."""
        text = f"{_gains(touch)}, seen used in season {season}"
        self._put("exploration", touch.kind, text)

    def explored(self, ground: ExplorationMap) -> None:
        """Note what is unexplored: ground, kinds never used, and what the thinker wants next."""
        frontier = ground.frontier()
        where = f", the nearest at row {frontier[0]}, column {frontier[1]}" if frontier else ""
        unseen = ground.sizes.side**2 - ground.cells_seen
        met = {entry.about for entry in self._entries.values()}
        untried = " ".join(sorted(ground.kinds_seen - met)) or "none"
        wanted = f"; next {self._wanted}" if self._wanted else ""
        text = f"{unseen} cells{where}; found and not used {untried}{wanted}"
        self._put("exploration", "unexplored", text)

    def advised(self, plan: Plan) -> None:
        """Take what the thinker warns of and wants to explore; what was felt stays as it is."""
        for update in plan.alert_updates[:MOST_SAID]:
            cause = one_line(update.cause).casefold().replace(":", " ")[:_ABOUT_CHARS].strip()
            text = ", ".join(filter(None, (update.avoidance, update.condition)))
            if cause and f"alert:{cause}" not in self._entries:
                self._warn(cause, clip_tokens(one_line(text), _SAID_TOKENS) or "beware")
        self._wanted = clip_tokens(one_line(" ".join(plan.exploration_priorities)), _WANTED_TOKENS)

    def _warn(self, cause: str, text: str) -> None:
        texts = {
            entry.about: name
            for name, entry in self._entries.items()
            if name.startswith("alert:said-")
        }
        name = texts.get(cause, f"alert:said-{self._warned % MOST_SAID}")
        self._warned += cause not in texts
        count = self._times(name) if cause in texts else 1
        self._put("alert", cause, text, count, name=name)

    def take(self, at: datetime) -> list[Artifact]:
        """The artifacts of the entries that changed since the last time."""
        changed, self._changed = self._changed, {}
        contents = {_artifact_of(name): self._content(_artifact_of(name)) for name in changed}
        return [_artifact(self._id(name), text, self._key, at) for name, text in contents.items()]

    def _content(self, artifact: str) -> str:
        """What the entries of an artifact say."""
        own = (each for name, each in self._entries.items() if _artifact_of(name) == artifact)
        return "; ".join(f"{each.about}: {each.text}" for each in own)

    def _times(self, name: str) -> int:
        """How often an entry is met now."""
        return self._entries[name].count + 1 if name in self._entries else 1

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all entries."""
        return frozenset(self._id(_artifact_of(name)) for name in self._entries)

    def entries(self) -> tuple[LogEntry, ...]:
        """All entries, alerts first, the most frequent first."""
        return tuple(sorted(self._entries.values(), key=lambda each: (each.log, -each.count)))

    def _put(
        self,
        log: Literal["alert", "exploration"],
        about: str,
        text: str,
        count: int = 1,
        *,
        name: str = "",
    ) -> None:
        entry = LogEntry(log=log, about=about, text=text, count=count)
        name = name or f"{log}:{about}"
        if self._entries.get(name) != entry:
            self._entries[name] = entry
            self._changed[name] = None

    def _id(self, name: str) -> str:
        return f"{name}@{self._key.session}"


def _gains(change: StepRecord | Touch) -> str:
    """What a step or a touch brought, such as 'food +24'."""
    gains = {part: getattr(change, part) for part in GAINS}
    return ", ".join(f"{part} {by:+d}" for part, by in gains.items() if by > 0)


def _artifact(name: str, content: str, key: SessionKey, at: datetime) -> Artifact:
    """An artifact of experience, in the log that its id begins with."""
    return Artifact(
        artifact_id=name,
        content=content,
        source=f"{LOG}{name.partition(':')[0]}",
        created_at=at,
        tenant=key.tenant,
        kind=ArtifactKind.TOOL_RESULT,
        authority=Authority.TOOL,
    )


def _artifact_of(name: str) -> str:
    """What things gave is one artifact, since a plan may rest on a kind that is out of sight."""
    log, _, about = name.partition(":")
    return "exploration:things" if log == "exploration" and about in KINDS else name


def meta_note(key: SessionKey, episode: int, text: str, at: datetime) -> Artifact:
    """The note of an episode that has ended; the next one recalls it."""
    content = f"episode {episode}: {clip_tokens(one_line(text), _NOTE_TOKENS)}"
    note = {"kind": ArtifactKind.NOTE, "authority": Authority.AGENT, "session": key.session}
    return _artifact(note_ids(key.user)[0], content, key, at).model_copy(update=note)


def meta_entry(note: Artifact) -> LogEntry:
    """A meta note, or what scripts found, as an entry of its log."""
    about, _, text = note.content.partition(": ")
    log = note.source.removeprefix(LOG)
    return LogEntry.model_validate({"log": log, "about": about, "text": text})


async def newest_note(container: Container, key: SessionKey) -> tuple[int, list[Artifact]]:
    """The episode of a run that ended last, 0 for none, and its notes. Raises StoreError."""
    notes = [await container.artifacts.get(key.tenant, each) for each in note_ids(key.user)]
    ended = int(notes[0].content.split(":")[0].split()[1]) if notes[0] else 0
    return ended, [note for note in notes if note]


def mind_of_life(key: SessionKey, mind: str, at: datetime) -> Artifact:
    """What a life leaves of fear and curiosity; it goes out of recall with the life's logs."""
    place = {"session": key.session, "turn": 1}
    return _artifact(_mind_id(key), mind, key, at).model_copy(update=place)


async def left_mind(container: Container, key: SessionKey) -> str:
    """What the last life of a run left of fear and curiosity; '' for none. Raises StoreError."""
    mind = await container.artifacts.get(key.tenant, _mind_id(key))
    return mind.content if mind else ""


def _mind_id(key: SessionKey) -> str:
    return f"mind:0@{key.user}"


def note_ids(run: str) -> tuple[str, str]:
    """Of the note of a run's last episode, and of what scripts found in it (`ext/sandbox`)."""
    return f"meta:0@{run}", f"playground:0@{run}"
