"""The survivor's contracts: the plan that a model replies, and the snapshot of a tick.

A step is one action in the world; a tick is one turn, which acts at most MOST_STEPS steps. The
server and the analysis read snapshots from JSONL and know nothing else of the survivor.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

from pydantic import Field, model_validator

from acc_ace.core.schemas.base import EntryReply, ReplyHints, ReplyValue, Value

SNAPSHOT_VERSION: Final = 1
MOST_STEPS: Final = 6
"""Steps that a tick acts at most, however its actions repeat."""

THRESHOLD_BOUNDS: Final = (0.2, 0.9)
EXPLORATION_BOUNDS: Final = (0.0, 1.0)

DIRECTIONS: Final = ("north", "south", "west", "east")
Cell = tuple[int, int]
"""Row and column; relative cells are steps south and east of the body."""


class ActionType(StrEnum):
    """The whitelist: nothing else is ever done in the world."""

    MOVE = "move"
    USE = "use"
    WAIT = "wait"


_COMPASS = dict(zip("北南西東", DIRECTIONS, strict=True))


class Action(ReplyValue):
    """An action as a model proposes it; the Execution Engine validates it."""

    type: str
    target: str = ""
    times: int = 1

    hints = ReplyHints(bare="type", meanings={"type": {"walk": "move"}, "target": _COMPASS})

    @model_validator(mode="before")
    @classmethod
    def _in_one_text(cls, value: object) -> object:
        """'move north' has its target behind the type."""
        if not isinstance(value, dict) or value.get("target"):
            return value
        kind, _, target = str(value.get("type", "")).strip().partition(" ")
        return {**value, "type": kind, "target": target} if target else value


class AlertUpdate(ReplyValue):
    """A danger as the thinker would have it in the alert log."""

    cause: str
    condition: str = ""
    avoidance: str = ""

    hints = ReplyHints(bare="cause")


class Plan(EntryReply):
    """The thinker's reply: the reflection on the last tick, and the plan of this one.

    Its prompt says what each field holds.
    """

    reflection: str = ""
    alert_updates: tuple[AlertUpdate, ...] = ()
    exploration_priorities: tuple[str, ...] = ()
    threshold_change: float | None = None
    objective: str = ""
    subgoals: tuple[str, ...] = ()
    actions: tuple[Action, ...]
    risk: float = 0.0
    expected_reward: float = 0.0
    watch: str = ""
    bullet_ids: tuple[str, ...] = ()


StepStatus = Literal["done", "blocked", "evaded", "skipped", "failed"]


class StepRecord(Value):
    """One step of a tick: what was wanted, what was done, what it led to."""

    wanted: str = Field(description="The proposed step, such as 'move north' or 'use cone'.")
    done: str = Field(default="", description="The step that was made; '' when none was.")
    status: StepStatus
    why: str = Field(default="", description="Reason of a block, an evasion or a failure.")
    rule_id: str = Field(default="", description="The rule that the step would have broken.")
    danger: float = Field(default=0.0, description="The fear model's estimate before the step.")
    reward: float = 0.0
    life: int = Field(default=0, description="Change of life.")
    food: int = 0
    water: int = 0
    cause: str = Field(default="", description="Thing or creature that changed the body.")
    season: int = 0
    lack: str = Field(default="", description="Thirst or hunger, when that took life.")
    replanned: bool = Field(default=False, description="Whether the tick's second plan made it.")


class Body(Value):
    """Remaining life and resources, in points, with their maxima."""

    life: int
    food: int
    water: int
    most_life: int
    most_food: int
    most_water: int

    @property
    def points(self) -> dict[str, tuple[int, int]]:
        """Of each part what is left, and its maximum."""
        parts = ("life", "food", "water")
        return {part: (getattr(self, part), getattr(self, f"most_{part}")) for part in parts}


class Scoreboard(Value):
    """Rewards of a tick by part, their moving averages, and warnings about trade-offs."""

    external: Mapping[str, float] = Field(default_factory=dict)
    intrinsic: Mapping[str, float] = Field(default_factory=dict)
    total: float = 0.0
    averages: Mapping[str, float] = Field(default_factory=dict)
    score: float = Field(default=0.0, description="Sum of all totals of the episode.")
    warnings: tuple[str, ...] = ()


class LogEntry(Value):
    """An entry of a log as shown: what it is about, its text, and how often it was met."""

    log: Literal["alert", "exploration", "meta", "playground"]
    about: str
    text: str
    count: int = 1


class PlaybookChange(Value):
    """What the Curator did with a delta of the Reflector."""

    type: str
    section: str = ""
    content: str = ""
    rationale: str = ""
    priority: str = ""
    outcome: str = Field(description="'applied', 'held' or 'rejected'.")
    reason: str = ""
    bullet_id: str = ""


class Alert(Value):
    """Something that a person should notice."""

    kind: Literal["lethal_risk", "rule_violation", "emergency_stop", "threshold"]
    text: str


class LoopSettings(Value):
    """What a person may change while the loop runs; taken up within a tick."""

    danger_threshold: float = Field(default=0.6, ge=THRESHOLD_BOUNDS[0], le=THRESHOLD_BOUNDS[1])
    exploration: float = Field(default=0.5, ge=EXPLORATION_BOUNDS[0], le=EXPLORATION_BOUNDS[1])
    log_detail: Literal["brief", "full"] = "full"
    notifications: bool = True
    paused: bool = False


class LoopSnapshot(Value):
    """All that one tick shows to people: one line of a run file."""

    version: int = SNAPSHOT_VERSION
    run: str
    seed: int
    episode: int = Field(description="From 1.")
    tick: int = Field(description="From 1, within the episode.")
    step: int = Field(description="Steps of the episode after this tick.")
    at: str = Field(description="Time of the commit, ISO 8601; the only value of the wall clock.")
    place: Cell
    side: int
    view: tuple[str, ...] = Field(description="The view as rows of symbols, north first.")
    legend: Mapping[str, str] = Field(default_factory=dict)
    path: tuple[Cell, ...] = Field(description="Cells of this tick's steps.")
    is_night: bool = False
    season: int = 0
    is_safe: bool = False
    body: Body
    unknown: float
    fear: float = Field(description="P(damage within three steps) after the tick.")
    curiosity: float = Field(description="Bits gained in this tick.")
    threshold: float
    exploration: float
    plan: Plan
    steps: tuple[StepRecord, ...]
    scoreboard: Scoreboard
    logs: tuple[LogEntry, ...] = ()
    alerts: tuple[Alert, ...] = ()
    playbook: tuple[PlaybookChange, ...] = ()
    playbook_version: int = 0
    model: str = ""
    calls: int = 0
    tokens: int = 0
    usd: float | None = Field(default=None, description="US dollars of the life; null: unknown.")
    seconds: float = Field(default=0.0, description="CPU seconds of the tick.")
    cells_seen: int = 0
    kinds_known: int = 0
    died_of: str = ""
    over: bool = False
    warnings: tuple[str, ...] = ()


class Episode(Value):
    """An episode; `died_of` is '' for one that goes on or was cut off."""

    episode: int = 0
    line: int = Field(default=0, description="Of its first tick in the run's file.")
    ticks: int = 0
    steps: int = 0
    score: float = 0.0
    cells: int = 0
    kinds: int = 0
    bits: float = 0.0
    usd: float | None = None
    died_of: str = ""
    is_night: bool = Field(default=False, description="Whether its newest tick ended by night.")
    feats: tuple[str, ...] = Field(default=(), description="What can be a milestone: 'food', …")
    learned: tuple[str, ...] = Field(default=(), description="Lessons that were applied in it.")


class RunAnalysis(Value):
    """All measures of a run; a mean or share that nothing stands behind is null.

    A danger is a row of steps with an estimate at or above the threshold; `playbook` counts the
    outcomes of changes by section, the most changed first; `alerts` has the causes of the alert
    log that, once noted, did damage ('harmful'), were met without ('harmless'), or were not met
    ('unmet').
    """

    run: str = ""
    seed: int = 0
    model: str = ""
    episodes: int = 0
    ticks: int = 0
    steps: int = 0
    mean_ticks: float | None = None
    mean_steps: float | None = None
    best_ticks: int = 0
    best_steps: int = 0
    mean_score: float | None = None
    best_score: float | None = None
    deaths: Mapping[str, int] = {}
    harms: Mapping[str, int] = Field(default={}, description="Life lost by cause, need among them.")
    dangers_predicted: int = 0
    dangers_avoided: float | None = Field(default=None, description="Share without damage.")
    damage_unpredicted: int = Field(default=0, description="Steps with damage outside of dangers.")
    fear_auc: float | None = Field(default=None, description="Area under the ROC curve.")
    fear_windows: int = Field(default=0, description="Windows that it is measured on.")
    alerts: Mapping[str, int] = {}
    alert_accuracy: float | None = Field(default=None, description="Harmful ones of those met.")
    harms_foretold: float | None = Field(default=None, description="Noted before.")
    cells_per_step: float | None = Field(default=None, description="Exploration rate.")
    bits: float = Field(default=0.0, description="Information gained.")
    bits_per_step: float | None = None
    rewards: Mapping[str, float] = Field(default={}, description="Means of a tick.")
    playbook: Mapping[str, Mapping[str, int]] = {}
    playbook_per_100_ticks: float | None = Field(default=None, description="Applied changes.")
    moves_per_100_ticks: float | None = Field(default=None, description="Of the threshold.")
    subgoals_per_tick: float | None = None
    meta_notes: int = Field(default=0, description="Different notes on policy and prompts.")
    calls_per_tick: float | None = None
    tokens_per_tick: float | None = None
    usd: float | None = Field(default=None, description="US dollars; null: unknown.")
    newest: tuple[Episode, ...] = Field(default=(), description="The newest episodes.")
    series: Mapping[str, tuple[float, ...]] = Field(default={}, description="For plots.")
