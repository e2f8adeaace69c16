"""Surroundings for the survivor's engine: one by script, one over a real world, and their turns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.ext.survivor.core_thinker import CoreThinker, Moment
from acc_ace.ext.survivor.execution_engine import Acted, ExecutionEngine
from acc_ace.ext.survivor.exploration import ExplorationMap, Outlook, outlook
from acc_ace.ext.survivor.policy_model import beliefs_of
from acc_ace.ext.survivor.safety_sentinel import SafetySentinel
from acc_ace.ext.survivor.state_formatter import render
from acc_ace.ext.survivor.survival import Body, Cell, Plan, StepRecord
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import ACTIONS, action_of
from acc_ace.turn.turn_record import TurnRecord, TurnStart
from config import AgentSettings, Settings
from schemas.artifact import Artifact
from schemas.base import Authority, SessionKey, Tenant
from schemas.bullet import Bullet
from schemas.commit import CcsDiff, CommitKind, CommittedState, ConstraintPin, JournalEntry
from schemas.interaction import TurnInput
from schemas.limits import Limits
from schemas.playbook import Playbook, StoredPlaybook
from schemas.qualification import Qualification

AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
KEY = SessionKey("survivor", "u", "run-1-1")
PLAIN: Mapping[Cell, str] = {(r, c): "plain" for r in range(-4, 5) for c in range(-4, 5)}
WELL = Body(life=12, food=40, water=30, most_life=12, most_food=40, most_water=30)


def thinker(
    model: Any, limits: Limits | None = None, *, bullets: int = 10, bullet_chars: int = 160
) -> CoreThinker:
    """A mind that asks this model, shown so many bullets of so many characters."""
    completion = DirectCompletion(model, Plan, AgentSettings())
    excerpt = {"playbook_context_limit": bullets, "playbook_context_chars": bullet_chars}
    own = Settings().model_copy(update={"limits": limits or Limits(), **excerpt})
    return CoreThinker(completion, own)


def moment(**changes: Any) -> Outlook:
    """An open field by day, a whole body, nothing in sight; `terrain` is laid over the field."""
    ground = {**PLAIN, **changes.pop("terrain", {})}
    still: dict[str, Any] = {
        "body": WELL,
        "is_night": False,
        "light_left": 30,
        "is_safe": False,
        "sight": 4,
        "terrain": ground,
        "things": {},
        "creatures": {},
        "approaching": frozenset(),
        "places": {},
        "safe": None,
        "frontier": None,
        "danger": 0.0,
        "threshold": 0.6,
        "exploration": 0.5,
    }
    return Outlook(**{**still, **changes})


def rules(*texts: str) -> list[ConstraintPin]:
    """Rules pinned with system authority, as c-0001 and so on."""
    return [
        ConstraintPin(
            id=f"c-{number:04}", text=text, authority=Authority.SYSTEM, origin_turn=0, quote=text
        )
        for number, text in enumerate(texts, 1)
    ]


def bullet(content: str, number: int = 1, *, helpful: int = 0, harmful: int = 0) -> Bullet:
    return Bullet(
        id=f"b-{number:05}", section="things", content=content, helpful=helpful, harmful=harmful
    )


def log(text: str, source: str = "log:alert") -> Artifact:
    """An artifact of the turn's recall, such as an entry of a log."""
    return Artifact(
        artifact_id=f"{source}-{text[:8]}",
        content=text,
        source=source,
        created_at=AT,
        tenant=Tenant(KEY.app, KEY.user),
    )


def record(
    report: str = "Nothing happened.",
    *,
    pins: Sequence[ConstraintPin] = (),
    bullets: Iterable[Bullet] = (),
    logs: Iterable[Artifact] = (),
) -> TurnRecord:
    """A turn that is prepared, so that the thinker can be asked."""
    state = CommittedState(version=1, turn=1, pins=list(pins))
    state = state.model_copy(
        update={"ccs": state.ccs.model_copy(update={"constraints": [pin.text for pin in pins]})}
    )
    held = tuple(bullets)
    book = Playbook(bullets=held, next_bullet=len(held) + 1)
    x_t = TurnInput(text=report, authority=Authority.TOOL)
    return TurnRecord(
        TurnStart(KEY, turn_input=x_t, invocation_id="turn-1", evidence_id="turn-1"),
        entry=JournalEntry(
            kind=CommitKind.COMMIT,
            state=state,
            diff=CcsDiff(),
            invocation_id="turn-1",
            created_at=AT,
        ),
        qualification=Qualification(qualified=list(logs)),
        playbook=StoredPlaybook(version=1, digest="", playbook=book),
    )


def felt(**changes: Any) -> StepRecord:
    """What a step did."""
    return StepRecord(**{"wanted": "", "status": "done", **changes})


@dataclass
class Stage:
    """Surroundings by script: each step changes the outlook, and is felt, as `script` says."""

    outlook: Outlook
    fear: float = 0.0
    script: Callable[["Stage", str], StepRecord] = lambda stage, step: felt(reward=0.1)
    made: list[str] = field(default_factory=list)
    is_over: bool = False

    def step(self, step: str) -> StepRecord:
        self.made.append(ACTIONS[action_of(step)])
        return self.script(self, self.made[-1]).model_copy(update={"done": step})

    def show(self, **changes: Any) -> None:
        """Change what is known."""
        self.outlook = replace(self.outlook, **changes)


class LivedWorld:
    """Surroundings over a real world from a seed, with a fear that stays as it is."""

    def __init__(self, world: World, seed: int, *, fear: float = 0.0) -> None:
        self.world, self.fear = world, fear
        self._ground = ExplorationMap(world.sizes)
        self.made: list[str] = []
        self.is_over = False
        self.used: list[str] = []
        self.burns = 0
        self._now, self.info = world.reset(seed=seed)
        self._ground.observe(self._now)

    @property
    def outlook(self) -> Outlook:
        return outlook(self._now, self._ground)

    def step(self, step: str) -> StepRecord:
        self.made.append(ACTIONS[action_of(step)])
        before = [int(points) for points in self._now["body"]]
        self._now, _, died, over, self.info = self.world.step(action_of(step))
        self._ground.observe(self._now)
        life, food, water = (
            int(now) - then for now, then in zip(self._now["body"], before, strict=True)
        )
        touch, hits = self.info["touch"], self.info["hits"]
        self.used.extend([touch.kind] if touch else [])
        self.burns += sum(hit.kind == "lava" for hit in hits)
        self.is_over = died or over
        cause = touch.kind if touch else next((hit.kind for hit in hits), "")
        return felt(done=step, life=life, food=food, water=water, cause=cause)


async def tick(
    mind: CoreThinker,
    world: LivedWorld,
    report: str,
    pins: Sequence[ConstraintPin],
    bullets: Iterable[Bullet] = (),
) -> tuple[Acted, TurnRecord]:
    """Think and act once, as the loop does."""
    turn = record(report, pins=pins, bullets=bullets)
    assert turn.playbook is not None
    beliefs = beliefs_of(turn.playbook.playbook.bullets, report)
    sentinel = SafetySentinel(pins, AT, beliefs)

    async def think(why: str) -> Plan:
        now = world.outlook
        slots = render(now, fear=world.fear, beliefs=beliefs)
        steps = sentinel.candidates(now)
        shown = Moment(slots, steps, why, lambda: sentinel.fallback(now), now.threshold)
        return await mind.think(turn, shown)

    return await ExecutionEngine(world, sentinel).act(await think(""), think), turn
