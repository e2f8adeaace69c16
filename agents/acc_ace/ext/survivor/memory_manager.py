"""The Memory Manager (component 5): what a life has taught, as artifacts of the shared store.

The alert log has dangers (cause, condition, avoidance), the exploration log what things gave and
what is unexplored, the meta notes how an episode changed the policy. A cause that is met again
replaces its artifact, with a higher count. So a session has at most 25 artifacts: 15 alerts of what
was felt (ten kinds, two creatures, lava, hunger, thirst), MOST_SAID of what the thinker warned of,
and two of exploration; a run has one note. Alerts and exploration end with the episode.
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
from acc_ace.ext.survivor.world_rules import CREATURES, GAINS, KINDS, used_in

MOST_SAID: Final = 8
"""Warnings of the thinker about causes that the body has not felt; more replace the oldest."""

_UNEXPLORED, _NEXT = "exploration:unexplored", "; next "
_BEWARE: Final = "keep away from it"
_ABOUT_CHARS, _SAID_TOKENS, _WANTED_TOKENS, _NOTE_TOKENS = 40, 40, 12, 56
_AVOIDANCE: Final = {
    **dict.fromkeys(KINDS, "avoid using it"),
    **dict.fromkeys(CREATURES, "it bites, keep away from it"),
    "lava": "keep off it",
    "hunger": "eat early",
    "thirst": "drink early",
}


def cause_of(record: StepRecord, before: Outlook) -> str:
    """What took life in a step, hunger and thirst included; '' when nothing did."""
    if record.life >= 0:
        return ""
    return record.cause or ("thirst" if before.body.food else "hunger")


class MemoryManager:
    """The logs of one episode; `take` gives what has changed."""

    def __init__(self, key: SessionKey) -> None:
        self._key = key
        self._entries: dict[str, LogEntry] = {}
        self._changed: dict[str, None] = {}
        self._lost: Counter[str] = Counter()
        self._warned, self._wanted = 0, ""

    def step(self, record: StepRecord, before: Outlook) -> None:
        """Take in a step that was made, and the moment before it."""
        light = "by night" if before.is_night else "by day"
        if cause := cause_of(record, before):
            self._lost[cause] -= record.life
            count = self.count(cause) + 1
            took = f"took {self._lost[cause]} life in {count} {'time' if count == 1 else 'times'}"
            self._put(
                "alert", cause, f"{_AVOIDANCE.get(cause, _BEWARE)}, {took}, last {light}", count
            )
        kind = used_in(record.done)
        if kind and kind != cause:
            self._used(kind, record)

    def _used(self, kind: str, record: StepRecord) -> None:
        known = self._entries.get(f"exploration:{kind}")
        gains = {part: getattr(record, part) for part in GAINS}
        effect = ", ".join(f"{part} {by:+d}" for part, by in gains.items() if by > 0)
        if known is not None:
            effect = effect or known.text.partition(", used")[0]
        count = known.count + 1 if known else 1
        self._put("exploration", kind, f"{effect or 'nothing changed'}, used {count}", count)

    def explored(self, ground: ExplorationMap) -> None:
        """Note what is unexplored: ground, kinds never used, and what the thinker wants next."""
        frontier = ground.frontier()
        where = f", the nearest at row {frontier[0]}, column {frontier[1]}" if frontier else ""
        unseen = ground.sizes.side**2 - ground.cells_seen
        met = {entry.about for entry in self._entries.values()}
        untried = " ".join(sorted(ground.kinds_seen - met)) or "none"
        wanted = f"{_NEXT}{self._wanted}" if self._wanted else ""
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
        count = self._entries[name].count + 1 if cause in texts else 1
        self._put("alert", cause, text, count, name=name)

    async def restore(self, container: Container) -> None:
        """Read back what only the thinker knew, once the steps are replayed. Raises StoreError."""
        for slot in range(MOST_SAID):
            name = f"alert:said-{slot}"
            if text := await self._stored(container, name):
                cause, _, text_of_cause = text.partition(": ")
                self._put("alert", cause, text_of_cause, name=name)
                self._warned = slot + 1
        ground = await self._stored(container, _UNEXPLORED)
        if wanted := ground.partition(_NEXT)[2]:
            self._wanted = wanted
            own = self._entries[_UNEXPLORED]
            self._put("exploration", own.about, f"{own.text}{_NEXT}{wanted}")
        self._changed.clear()

    async def _stored(self, container: Container, name: str) -> str:
        artifact = await container.artifacts.get(self._key.tenant, self._id(name))
        return artifact.content if artifact else ""

    def take(self, at: datetime) -> list[Artifact]:
        """The artifacts of the entries that changed since the last time."""
        changed, self._changed = self._changed, {}
        contents = {_artifact_of(name): self._content(_artifact_of(name)) for name in changed}
        return [
            Artifact(
                artifact_id=self._id(name),
                content=content,
                source=f"{LOG}{name.partition(':')[0]}",
                created_at=at,
                tenant=self._key.tenant,
                kind=ArtifactKind.TOOL_RESULT,
                authority=Authority.TOOL,
            )
            for name, content in contents.items()
        ]

    def _content(self, artifact: str) -> str:
        """What the entries of an artifact say."""
        own = (each for name, each in self._entries.items() if _artifact_of(name) == artifact)
        return "; ".join(f"{each.about}: {each.text}" for each in own)

    def count(self, cause: str) -> int:
        """How often a cause has taken life in this episode."""
        known = self._entries.get(f"alert:{cause}")
        return known.count if known else 0

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


def _artifact_of(name: str) -> str:
    """What things gave is one artifact, since a plan may rest on a kind that is out of sight."""
    log, _, about = name.partition(":")
    return "exploration:things" if log == "exploration" and about in KINDS else name


def meta_note(key: SessionKey, run: str, episode: int, text: str, at: datetime) -> Artifact:
    """The note of an episode that has ended; the next one recalls it."""
    return Artifact(
        artifact_id=note_ids(run)[0],
        content=f"episode {episode}: {clip_tokens(one_line(text), _NOTE_TOKENS)}",
        source=f"{LOG}meta",
        created_at=at,
        tenant=key.tenant,
        kind=ArtifactKind.NOTE,
        authority=Authority.AGENT,
        session=key.session,
    )


def meta_entry(note: Artifact) -> LogEntry:
    """A meta note as an entry of the log."""
    about, _, text = note.content.partition(": ")
    return LogEntry(log="meta", about=about, text=text)


async def newest_note(
    container: Container, key: SessionKey, run: str
) -> tuple[int, list[Artifact]]:
    """The episode of a run that ended last, 0 for none, and its notes. Raises StoreError."""
    notes = [n for i in note_ids(run) if (n := await container.artifacts.get(key.tenant, i))]
    return (int(notes[0].content.split(":")[0].split()[1]), notes) if notes else (0, [])


def note_ids(run: str) -> tuple[str, str]:
    """Of the note of a run's last episode, and of what scripts found in it (`ext/sandbox`)."""
    return f"meta:0@{run}", f"playground:0@{run}"
