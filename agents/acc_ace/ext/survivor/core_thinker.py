"""Core Thinker (component 1): the Generator, asked for a Plan.

One structured reply holds the reflection on the last tick and the plan of this one. The request
has the stable text first and is bounded: excerpts of playbook and logs, a state, slots.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from acc_ace.adk.student_models import STUDENTS
from acc_ace.config import EMBEDDED_MODEL, Settings
from acc_ace.core.gates.ccs_budget import NOTHING
from acc_ace.core.playbook.selection import select_bullets
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.bullet import Bullet, clean_id
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.prompt import Lines, Prompt, load_prompt
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.survivor.survival import Plan
from acc_ace.model_settings import POLICY_MODEL
from acc_ace.turn.structured_call import (
    Completion,
    input_value,
    parser,
    state_value,
    structured_call,
)
from acc_ace.turn.turn_record import TurnRecord

LOG: Final = "log:"
"""Sources of log artifacts start with it, as 'log:alert'."""

_LOG_TOKENS, _REFLECTION_TOKENS = 120, 120


@lru_cache(maxsize=1)
def thinker_prompt() -> Prompt:
    """The prompt of the role. Raises PromptError when it cannot be read."""
    return load_prompt(Path(__file__).parent / "prompts" / "thinker.md")


def thinker_settings(settings: Settings) -> Settings:
    """The settings with `embedded/policy` where thinker and students would be `embedded/rules`."""
    own: dict[str | None, str] = {EMBEDDED_MODEL: POLICY_MODEL}
    blocks = {}
    for role in STUDENTS:
        block = settings.agent(role)
        names = {"model": settings.model_name(role), "fallback": block.fallback}
        changes = {field: own[name] for field, name in names.items() if name in own}
        blocks[str(role)] = block.model_copy(update=changes)
    return settings.model_copy(update=blocks)


class Moment(NamedTuple):
    """What the thinker is shown beside the turn, and the plan in case that no model answers."""

    slots: str
    candidates: Sequence[str]
    reflection: str
    fallback: Callable[[], Plan]
    setting: float
    """The danger threshold that a person has set."""


class CoreThinker:
    """Asks a model for plans, within limits and with as much playbook as the settings say."""

    def __init__(self, completion: Completion, settings: Settings) -> None:
        self._completion, self._settings = completion, settings

    async def think(self, record: TurnRecord, moment: Moment) -> Plan:
        """A plan for the turn of the record, which counts what it cost.

        When the model is silent, or its replies stay unusable, this is the fallback plan, and the
        record gets a warning.
        """
        playbook = record.lessons
        shown = self._excerpt(playbook, f"{record.start.x_t.text}\n{moment.slots}")
        inputs = {
            "playbook": playbook.as_prompt(shown),
            "state": state_value(record.state),
            "current_input": input_value(record.start.x_t),
            "slots": Lines(moment.slots),
            "logs": log_lines(record.qualification.qualified),
            "reflection": clip_tokens(one_line(moment.reflection), _REFLECTION_TOKENS),
            "actions": ", ".join(moment.candidates) or NOTHING,
            "setting": f"{moment.setting:.2f}",
        }
        with record.observer.stage("generator") as use:
            result = await structured_call(
                self._completion,
                thinker_prompt(),
                inputs,
                parser(Plan),
                repairs=self._settings.limits.repairs,
            )
            use.add(result.use, result.model)
            use.model = result.model or use.model
        record.observer.warn(*result.warnings)
        if result.value is None:
            record.observer.warn("thinker: no usable plan; the fallback plan is used")
            return moment.fallback()
        known = {bullet.id for bullet in shown}
        used = dict.fromkeys(map(clean_id, result.value.bullet_ids))
        return result.value.model_copy(
            update={"bullet_ids": tuple(name for name in used if name in known)}
        )

    def _excerpt(self, playbook: Playbook, text: str) -> tuple[Bullet, ...]:
        """The bullets that fit the moment best, each cut, in playbook order."""
        own = self._settings
        tokens, most = own.limits.playbook_prompt_tokens, own.playbook_context_limit
        best = select_bullets(playbook, text, max_tokens=tokens, most=most)
        return tuple(
            bullet.model_copy(update={"content": bullet.content[: own.playbook_context_chars]})
            for bullet in best
        )


def log_lines(artifacts: Sequence[Artifact]) -> Lines:
    """The log entries among artifacts, one a line: 'alert: torus took 8 life'."""
    return Lines(
        "\n".join(
            f"{item.source.removeprefix(LOG)}: {clip_tokens(one_line(item.content), _LOG_TOKENS)}"
            for item in artifacts
            if item.source.startswith(LOG)
        )
        or NOTHING
    )
