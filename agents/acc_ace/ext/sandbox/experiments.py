"""After a life: a script is proposed, reviewed, run in the sandbox, and what it printed is kept.

The text comes back to later lives through the Memory Manager, as the words of a tool: held like
any text that nobody vouches for.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from acc_ace.adk.student_models import StudentModels
from acc_ace.bootstrap import build_container
from acc_ace.config import load_settings
from acc_ace.container import Container
from acc_ace.core.schemas.artifact import ArtifactKind
from acc_ace.core.schemas.base import Authority, ReplyValue, SessionKey
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.prompt import Lines, load_prompt
from acc_ace.errors import InputError, NotFoundError, StoreError
from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.playground import Playground, ScriptEntry
from acc_ace.ext.sandbox.review import objection
from acc_ace.ext.survivor.core_thinker import LOG, thinker_settings
from acc_ace.ext.survivor.loop import LoopOptions
from acc_ace.ext.survivor.memory_manager import meta_note, note_ids
from acc_ace.ext.survivor.recent_ticks import runs_folder
from acc_ace.ext.survivor.snapshots import read_snapshots
from acc_ace.ext.survivor.survival import LoopSnapshot
from acc_ace.model_settings import POLICY_MODEL
from acc_ace.turn.rule_service import RuleService
from acc_ace.turn.structured_call import parser, structured_call

Life = Sequence[LoopSnapshot]

MOST_DUE: Final = 4
"""Promoted scripts that run after a life, the newest."""

_TICKS: Final = 500
_FIELDS: Final = {"tick", "place", "body", "fear", "curiosity", "is_night", "steps", "died_of"}
"""What a script is told of a tick."""

HARMS: Final = """\
import json, statistics, sys

dangers = {}
for tick in json.load(sys.stdin):
    for step in tick["steps"]:
        if step["life"] < 0:
            dangers.setdefault(step["cause"] or "want", []).append(step["danger"])
for cause, felt in sorted(dangers.items()):
    print(f"{cause} harmed {len(felt)} times, danger was felt as {statistics.mean(felt):.2f}.")
"""
"""What the planner, which writes no code, has to propose; and the example for models."""


class Proposal(ReplyValue):
    """A script, as a model proposes it; its prompt says what each field holds."""

    name: str
    purpose: str = ""
    source: str
    promote: str = ""


_KEY_FREE: Final = Proposal(
    name="harms.py",
    purpose="what harmed in the last life, and how far it was foreseen",
    source=HARMS,
    promote="it says after every life which harms came unforeseen",
)


class Experimenter:
    """Makes experiments in a playground; `container` is the survivor's."""

    def __init__(self, container: Container, playground: Playground, box: Box) -> None:
        self.container, self._playground, self._box = container, playground, box

    async def after(self, key: SessionKey, life: Life) -> dict[str, str]:
        """Run what is promoted and what is proposed after a life; returns what came of each.

        Raises ConfigError, StoreError.
        """
        proposal = await self._proposal(key, life[-1], [*self._playground.book().values()])
        grants = [(name, each.granted) for name, each in self._playground.book().items()]
        due, texts = dict([each for each in grants if each[1]][-MOST_DUE:]), {}
        if proposal is not None:
            try:
                due |= {self._put(proposal): ""}
            except (InputError, StoreError) as error:
                texts[proposal.name] = f"refused: {error}"
        for name, granted in due.items():
            try:
                texts[name] = await self.run(key, name, life, granted)
            except (NotFoundError, StoreError) as error:
                texts[name] = f"not run: {error}"
        text, now = " ".join(texts.values()) or "no script", self.container.clock.now()
        note = meta_note(key, life[-1].episode, text, now)
        changes = {"artifact_id": note_ids(life[-1].run)[1], "source": f"{LOG}playground"}
        words = {"kind": ArtifactKind.TOOL_RESULT, "authority": Authority.TOOL}
        await self.container.artifacts.add([note.model_copy(update=changes | words)])
        return texts

    async def run(self, key: SessionKey, name: str, life: Life, granted: str = "") -> str:
        """Review a script and run it on a life; returns what it printed, or why it did not.

        Raises NotFoundError, also for a source that is not the one `granted`, and StoreError.
        """
        source = self._playground.read(name, granted)
        pins = (await RuleService(self.container).state(key)).pins
        data = [tick.model_dump(mode="json", include=_FIELDS) for tick in life[-_TICKS:]]
        if why := one_line(objection(name, source, pins, self.container.local_now()))[:300]:
            text, failure = "", f"refused: {why}"
        else:
            text, failure = await self._box.run(source, json.dumps(data).encode())
        episode = life[-1].episode if life else 0
        self._playground.note_run(name, source, failure, episode, int(not why))
        return failure or text

    def _put(self, proposal: Proposal) -> str:
        """Write a proposal; one that changes a promoted script has to be granted again."""
        name, source = proposal.name, proposal.source.encode("utf-8", "replace")
        if name not in self._playground.names() or self._playground.read(name) != source:
            purpose, wish = (one_line(text)[:200] for text in (proposal.purpose, proposal.promote))
            self._playground.write(name, source, purpose, wish)
        return name

    async def _proposal(
        self, key: SessionKey, last: LoopSnapshot, entries: Sequence[ScriptEntry]
    ) -> Proposal | None:
        """The model's; that of the planner where it thinks; None where nothing usable comes."""
        if self.container.settings.model_name("generator") == POLICY_MODEL:
            return _KEY_FREE
        inputs = {
            "scripts": [entry.model_dump() for entry in entries],
            "report": f"{last.tick} ticks; {last.died_of or 'nothing'} ended the life",
            "example": Lines(HARMS),
        }
        async with StudentModels(self.container, answers=Proposal) as students:
            prompt = load_prompt(Path(__file__).parent / "prompts" / "experimenter.md")
            own, parse = students.generator, parser(Proposal)
            reply = await structured_call(own, prompt, inputs, parse, repairs=1)
        await self.container.spending.note(key, last.tick, {"trial": {reply.model: reply.use}})
        return reply.value


async def run_again(name: str, options: LoopOptions) -> str:
    """Review a script and run it on the newest life of a saved run; returns what came of it.

    Raises ConfigError where the sandbox is off, NotFoundError, StoreError.
    """
    settings = thinker_settings(load_settings())
    box = Box(settings.playground)
    await box.require()
    path = runs_folder(settings.data_dir) / f"{options.run}.jsonl"
    saved = [*read_snapshots(path, lambda _: None)]
    life = [tick for tick in saved if tick.episode == saved[-1].episode]
    key = options.key(life[-1].episode if life else 0)
    container = build_container(settings)
    try:
        return await Experimenter(container, Playground(settings.data_dir), box).run(
            key, name, life
        )
    finally:
        await container.close()
