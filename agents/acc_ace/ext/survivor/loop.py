"""The survivor's loop: ticks as turns of the controller, one session per episode.

A tick reports on the last one, recalls, qualifies, compresses, thinks, acts and is committed once;
what surprised is learnt before the next. A process that dies within a tick leaves the state
before it: the next run of the seed lives the committed steps again and goes on.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from acc_ace.adk.structured_agent import Models
from acc_ace.adk.student_models import StudentModels, Students
from acc_ace.container import Container
from acc_ace.controller import AccController
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput, Interaction, Outcome, TurnInput
from acc_ace.errors import InputError, StoreError
from acc_ace.ext.survivor.core_thinker import CoreThinker, Moment, log_lines, thinker_settings
from acc_ace.ext.survivor.episode import LiveEpisode
from acc_ace.ext.survivor.execution_engine import Acted, ExecutionEngine
from acc_ace.ext.survivor.memory_manager import (
    left_mind,
    meta_entry,
    meta_note,
    mind_of_life,
    newest_note,
)
from acc_ace.ext.survivor.policy_model import beliefs_of
from acc_ace.ext.survivor.safety_sentinel import SafetySentinel, moved_threshold
from acc_ace.ext.survivor.snapshots import SettingsPort
from acc_ace.ext.survivor.surprise_learning import Lessons, SurpriseLearning
from acc_ace.ext.survivor.survival import LogEntry, LoopSnapshot, Plan
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import WorldRules
from acc_ace.turn.rule_service import RuleService
from acc_ace.turn.turn_record import TurnRecord

APP: Final = "survivor"
GOAL: Final = "Survive first, then collect, then explore."
RULES: Final = ("Never move onto lava.",)
RECALLED: Final = 12
"""Artifacts that a tick recalls; a life's logs are short."""

MOST_FAILURES: Final = 5
"""Ticks in a row in which the world may fail."""

MOST_DOUBLINGS: Final = 7
"""The longest wait for a model is 64 pauses of its breaker, as a rule half an hour."""

BOUNDS: Final = {
    "retrieved_artifacts_tokens": 16,
    "episodic_trace_tokens": 32,
    "semantic_gist_tokens": 32,
    "relational_map_tokens": 48,
    "predictive_cue_tokens": 24,
    "uncertainty_tokens": 32,
    "artifact_tokens": 120,
    "recall_tokens": 500,
}
"""Tighter limits: what the state would repeat stands in the report, the logs and the slots."""

_PAGE: Final = 500
_BRIEF: Final = 5
"""Entries of logs in a snapshot whose detail is brief."""

AfterLife = Callable[[SessionKey, Sequence[LoopSnapshot]], Awaitable[object]]
"""Told of each life that is over: its session, and the ticks that this process has lived of it."""

WorldOf = Callable[[int], World]
"""Makes the world of a seed."""

Listener = Callable[[LoopSnapshot], None]
"""Takes each tick's snapshot before it is yielded."""


def world_of(seed: int) -> World:
    """The world whose rules the seed draws."""
    return World(WorldRules.drawn(seed))


@dataclass(frozen=True)
class LoopOptions:
    """A run: the seed of its world, episodes to live, ticks of the longest, and its rules."""

    seed: int = 0
    episodes: int = 1
    ticks: int = 1_000
    rules: tuple[str, ...] = RULES
    tick_delay: float | None = None
    """Seconds between ticks; None for none, but for a pause where the command asks live models."""
    keeps_logs: bool = True
    """Whether logs are stored, so that the thinker is shown them."""
    name: str = "run"
    """What runs of its sort are called."""

    def __post_init__(self) -> None:
        for name in ("episodes", "ticks"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} are 1 or more, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"the seed of a world is from 0 to {2**32 - 1:,}, not {self.seed}")

    @property
    def run(self) -> str:
        """The name of the run; its user has it too."""
        return f"{self.name}-{self.seed}"

    def key(self, episode: int) -> SessionKey:
        """The session of an episode."""
        return SessionKey(APP, self.run, f"{self.run}-{episode}")


class Survivor:
    """Lives the episodes of a run in the stores of a container, which stay open."""

    def __init__(
        self,
        container: Container,
        options: LoopOptions,
        *,
        models: Models | None = None,
        port: SettingsPort | None = None,
        listeners: Sequence[Listener] = (),
        world_of: WorldOf = world_of,
        after_life: AfterLife | None = None,
    ) -> None:
        settings = thinker_settings(container.settings)
        own = settings.limits
        limits = own.model_copy(
            update={name: min(getattr(own, name), most) for name, most in BOUNDS.items()}
            | {"recall_k": RECALLED}
        )
        settings = settings.model_copy(update={"limits": limits})
        self.container = replace(container, settings=settings)
        self.options, self.models, self.world_of = options, models, world_of
        self._port, self._listeners = port or SettingsPort(), tuple(listeners)
        self._after_life = after_life
        self.refiner = PlaybookRefiner(
            container.playbooks,
            interval=settings.refine_interval,
            stale_days=settings.stale_days,
        )

    async def run(self) -> AsyncGenerator[LoopSnapshot, None]:
        """Live the episodes, the unfinished one of an earlier run first; yields every tick.

        Listeners are called before a tick is yielded; what they raise ends the run, as every
        error does, with the ticks so far committed. Raises ConfigError, InputError,
        SpendingCeilingError, ConstraintBudgetError, ConflictError or StoreError.
        """
        async with StudentModels(self.container, models=self.models, answers=Plan) as students:
            for _ in range(self.options.episodes):
                life, ticks = await self._begin(students), list[LoopSnapshot]()
                try:
                    while not life.is_over:
                        await self._port.wait_while_paused()
                        snapshot = await life.tick(self._port)
                        for listener in self._listeners:
                            listener(snapshot)
                        if self._after_life:
                            ticks.append(snapshot)
                        yield snapshot
                        await life.mend()
                        if not life.is_over:
                            await asyncio.sleep(max(self.options.tick_delay or 0.0, life.pause))
                    await life.close()
                    if self._after_life and ticks:
                        await self._after_life(life.key, ticks)
                finally:
                    await life.controller.close_models()

    async def _begin(self, students: Students) -> "_Life":
        """The first episode that has not ended, lived again up to its last commit."""
        container, options = self.container, self.options
        ended, notes = await newest_note(container, options.key(0))
        number = ended + 1
        key = options.key(number)
        if number > 1:
            await _retire(container, options.key(number - 1))
        await RuleService(container).found(key, goal=GOAL, rules=options.rules)
        life = _Life(self, number, students, notes)
        await life.rebuild()
        return life


class _Life:
    """An episode and its session, whose turns it decides: think, act, and note what was lived."""

    episode: LiveEpisode
    _unasked = 0
    """Plans in a row that were the planner's, as the thinker's model might not be asked."""

    def __init__(
        self, survivor: Survivor, number: int, students: Students, notes: Sequence[Artifact]
    ) -> None:
        """`notes` are the meta notes of earlier episodes."""
        container, self._options = survivor.container, survivor.options
        self._container, self._number, self._notes = container, number, notes
        self.key, self._world_of = self._options.key(number), survivor.world_of
        self.controller = AccController(
            container,
            session=self.key.session,
            user=self.key.user,
            app=APP,
            models=survivor.models,
        )
        self._thinker = CoreThinker(students.generator, container.settings)
        self._learning = SurpriseLearning(container, self.key, students.roles, survivor.refiner)
        self._reflection, self._failures = "", list[str]()

    @property
    def is_over(self) -> bool:
        """Whether the body died, the world ended, or the last tick is over."""
        return self.episode.is_over or self.episode.ticks >= self._options.ticks

    async def rebuild(self) -> None:
        """Live the committed ticks again in a fresh world.

        Raises InputError where they do not fit it, StoreError, and what the world raises.
        """
        seed, number = self._options.seed, self._number
        world, mind = self._world_of(seed), await left_mind(self._container, self.key)
        committed = await _committed(self._container, self.key)
        texts = [turn.decision.final_answer for turn in committed if turn.decision]
        now, layout = self._container.clock.now(), 100_003 * seed + number
        born = (await self._container.directory.open(self.key, at=now)).created_at
        self.episode = LiveEpisode(self.key, world, layout=layout, mind=mind, born=born)
        lived = self.episode.replay(texts)
        self._learning.restart(tick.records for tick in lived)
        if texts:
            self._reflection = texts[-1].splitlines()[1]
            # The entries of the replayed steps are stored already.
            self.episode.memory.take(self._container.clock.now())

    async def tick(self, port: SettingsPort) -> LoopSnapshot:
        """Live one tick, and learn from it."""
        begun, self._settings = time.process_time(), port.take()
        x_t = TurnInput(text=self.episode.report(), authority=Authority.TOOL)
        await self.controller.run_turns([x_t], self.of)
        record, acted = self.record, self.acted
        calls = record.observer.stages["generator"].tokens.calls
        self._unasked = 0 if calls else self._unasked + 1
        if acted.flag == "failed":
            record.observer.warn(f"the world failed: {acted.steps[-1].why}")
        self._reflection = acted.plan.reflection
        snapshot = self._snapshot(record, acted)
        lessons = await self._learning.after_tick(
            snapshot, record.state, record.lessons, first=self.first
        )
        self._failures = [*self._failures, acted.steps[-1].why] if acted.flag == "failed" else []
        version = await self._learning.version()
        totals = await self._container.spending.store.of_session(self.key)
        spent = {"usd": totals.spent.usd, "seconds": time.process_time() - begun}
        return self._with_lessons(snapshot, lessons, version).model_copy(update=spent)

    async def mend(self) -> None:
        """Rebuild a world that failed. Raises StoreError where it fails again and again."""
        if len(self._failures) == MOST_FAILURES:
            raise StoreError(f"the world failed {MOST_FAILURES} times: {self._failures[-1]}")
        if self._failures:
            await self.rebuild()

    @property
    def pause(self) -> float:
        """Seconds to wait for a model that may not be asked, which would miss the life; doubled."""
        waits = (1 << min(self._unasked, MOST_DOUBLINGS)) // 2
        return waits * self._container.settings.limits.breaker_pause_s

    def _snapshot(self, record: TurnRecord, acted: Acted) -> LoopSnapshot:
        settings, uses = self._settings, record.observer.stages.values()
        logs = (*map(meta_entry, self._notes), *self.episode.memory.entries())
        return LoopSnapshot(
            run=self._options.run,
            seed=self._options.seed,
            episode=self._number,
            at=self._container.clock.now().isoformat(),
            plan=acted.plan,
            alerts=acted.alerts if settings.notifications else (),
            logs=logs if settings.log_detail == "full" else logs[:_BRIEF],
            model=record.observer.models.get("generator", ""),
            calls=sum(use.tokens.calls for use in uses),
            tokens=sum(use.tokens.total for use in uses),
            over=self.is_over,
            warnings=tuple(record.observer.warnings),
            **self.episode.shown(),
        )

    def _with_lessons(self, snapshot: LoopSnapshot, lessons: Lessons, version: int) -> LoopSnapshot:
        logs = snapshot.logs
        if snapshot.over:
            text = _summary(self.episode)
            logs += (LogEntry(log="meta", about=f"episode {self._number}", text=text),)
        return snapshot.model_copy(
            update={
                "logs": logs,
                "playbook": lessons.changes,
                "playbook_version": version,
                "calls": snapshot.calls + lessons.use.calls,
                "tokens": snapshot.tokens + lessons.use.total,
                "warnings": (*snapshot.warnings, *lessons.warnings),
            }
        )

    async def close(self) -> None:
        """End the episode: leave its note and its mind, take its logs out of recall.

        Raises StoreError.
        """
        container, now = self._container, self._container.clock.now()
        note = meta_note(self.key, self._number, _summary(self.episode), now)
        mind = mind_of_life(self.key, self.episode.mind, now)
        await container.artifacts.add([note, mind])
        await _retire(container, self.key)

    def of(self, record: TurnRecord) -> Self:
        """The decision of a turn that begins: it leaves what was lived in the turn's record."""
        needed = {note.artifact_id for note in self._notes}
        self.record = record
        record.leaves_turn, record.needed = False, self.episode.memory.ids | needed
        return self

    async def decide(self, state: CommittedState, x_t: TurnInput) -> GeneratorOutput:
        """One plan, or two, and its steps. Raises StoreError."""
        episode, record = self.episode, self.record
        playbook = record.lessons
        logs = log_lines(record.qualification.qualified)
        season, experience = episode.outlook.season, f"{logs}\n{x_t.text}"
        episode.open_tick(beliefs_of(playbook.bullets, experience, season), self._settings)
        now, acts = self._container.local_now(), episode.world.acts
        sentinel = SafetySentinel(state.pins, now, episode.beliefs, acts)
        self.first = plan = await self._plan(sentinel)
        episode.set_threshold(moved_threshold(episode.threshold, plan))
        engine = ExecutionEngine(episode, sentinel)
        self.acted = await engine.act(plan, lambda why: self._plan(sentinel, why))
        plan = self.acted.plan
        episode.memory.advised(plan)
        episode.close_tick(self.acted.steps)
        if self._options.keeps_logs:
            record.artifacts += episode.memory.take(self._container.clock.now())
        return GeneratorOutput(
            final_answer=episode.committed(plan), bullet_ids=list(plan.bullet_ids)
        )

    async def _plan(self, sentinel: SafetySentinel, why: str = "") -> Plan:
        outlook = self.episode.outlook
        moment = Moment(
            slots=self.episode.slots(),
            candidates=sentinel.candidates(outlook),
            reflection=f"{self._reflection} {why}".strip(),
            fallback=lambda: sentinel.fallback(outlook),
            setting=self._settings.danger_threshold,
        )
        return await self._thinker.think(self.record, moment)


def _summary(episode: LiveEpisode) -> str:
    """A meta note: the end, and what changed of policy or should be said more of by prompts."""
    end = f"died of {episode.died_of}" if episode.died_of else "lived to the end"
    moved = f"danger threshold {episode.wanted or episode.threshold:.2f} to {episode.threshold:.2f}"
    parts = [f"{end} after {episode.steps} steps", moved]
    often = [each for each in episode.memory.entries() if each.log == "alert" and each.count > 1]
    if often:
        repeated = ", ".join(f"{each.about} {each.count} times" for each in often[:_BRIEF])
        parts.append(f"say more of {repeated}")
    return "; ".join(parts)


async def _committed(container: Container, key: SessionKey) -> list[Interaction]:
    """The answered turns of a session, oldest first."""
    turns, before = list[Interaction](), None
    while page := await container.evidence.list(key, limit=_PAGE, before=before):
        turns += [turn for turn in page if turn.outcome is Outcome.ANSWERED]
        before = page[-1].invocation_id
    return turns[::-1]


async def _retire(container: Container, key: SessionKey) -> None:
    """Take an ended episode out of recall, but for its note, and out of what idle work reads."""
    await container.artifacts.retire(key, 0)
    await container.directory.offloaded(key, at=container.clock.now(), notes=())
