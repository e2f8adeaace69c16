"""The survivor to talk to: an ADK app that answers from the snapshots of its newest saved run.

A conversation has a session of its own and acts nowhere: its one tool reads.
"""

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, FunctionCall, Part
from pydantic import ValidationError

from acc_ace.container import Container
from acc_ace.core.text.normalize import language_of, normalise
from acc_ace.core.text.similarity import content_words
from acc_ace.errors import StoreError
from acc_ace.ext.survivor.measured_run import measured_run
from acc_ace.ext.survivor.survival import LoopSnapshot
from acc_ace.ext.survivor.told_run import answers, in_english, say, told_tick, topic_of
from acc_ace.plugin import BoundedMemoryPlugin

APP_NAME: Final = "survivor"

_CANDIDATES: Final = 200
_SHOWN: Final = 5

_LIVES, _TICKS = "episode|life|エピソード|人生", "tick|ティック"
_NUMBERS: Final = re.compile(
    rf"({_LIVES}|{_TICKS}) ?(\d{{1,9}})(?!\d)"
    rf"|(?<!\d)(\d{{1,9}}) ?(?:番目|つ目|回目|度目)?の?({_LIVES}|{_TICKS})"
)
"""A life or a tick that is named by its number, before it or behind it."""

_INSTRUCTION: Final = Path(__file__).parent / "prompts" / "teller.md"


def runs_folder(data_dir: Path) -> Path:
    """Where runs are saved unless they are given another place."""
    return data_dir / APP_NAME / "runs"


def newest_run(folder: Path) -> Path | None:
    """The run that was written last."""
    return max(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns, default=None)


def build_app(container: Container, model: BaseLlm | None = None) -> App:
    """The app; its model is the Generator's of the settings, unless one is given.

    Raises ConfigError for a model that cannot be used.
    """
    agent = LlmAgent(
        name=APP_NAME,
        description="Tells what it did in its world, and why.",
        model=model or container.settings.model_name("generator"),
        instruction=_INSTRUCTION.read_text(encoding="utf-8"),
        before_model_callback=_ask_first,
        tools=[RecentTicks(runs_folder(container.settings.data_dir)).recent_ticks],
    )
    return App(name=APP_NAME, root_agent=agent, plugins=[BoundedMemoryPlugin(container)])


def _ask_first(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    """Ask the tool before the model answers: one may think that it remembers."""
    context = callback_context
    own = (each for each in context.session.events if each.invocation_id == context.invocation_id)
    if any(event.get_function_responses() for event in own):
        return None
    question = "".join(part.text or "" for part in (context.user_content or Content()).parts or ())
    call = FunctionCall(name="recent_ticks", args={"question": question})
    return LlmResponse(content=Content(role="model", parts=[Part(function_call=call)]))


class RecentTicks:
    """Ticks of the newest saved run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def recent_ticks(self, question: str, episode: int = 0, tick: int = 0) -> dict[str, Any]:
        """Tell what the survivor did and why, tick by tick, from its newest saved run.

        Args:
            question: What is asked, in the words of the person.
            episode: Number of an episode from 1; 0 for the one that the question names, or any.
            tick: Number of a tick from 1; 0 for the one that the question names, or any.
        """
        question = normalise(question)
        for name, after, before, unit in _NUMBERS.findall(question):
            if (name or unit) in _TICKS.split("|"):
                tick = tick or int(after or before)
            else:
                episode = episode or int(after or before)
        return await asyncio.to_thread(self._found, question, episode, tick)

    def _found(self, question: str, episode: int, tick: int) -> dict[str, Any]:
        run, language = newest_run(self._folder), language_of(question)
        if run is None:
            return {"results": [say("no_run", language)]}
        ticks = _ticks(run, episode=episode, tick=tick)
        if not ticks:
            return {"run": run.stem, "results": [say("no_tick", language)]}
        if (topic := topic_of(question)) and not tick:
            results = answers(topic, measured_run(run).result(), ticks[0], episode, language)
            return {"run": run.stem, "results": list(results)}
        words = content_words(in_english(question))
        # Newest first; among them, those that say most of what is asked.
        ticks.sort(key=lambda each: -len(words & content_words(told_tick(each))))
        return {"run": run.stem, "results": [told_tick(each, language) for each in ticks[:_SHOWN]]}


def _ticks(run: Path, *, episode: int, tick: int) -> list[LoopSnapshot]:
    """The newest ticks with these numbers, newest first; a torn line is left out.

    Raises StoreError when the file cannot be read.
    """
    numbers = [str(number).encode() if number > 0 else rb"\d+" for number in (episode, tick)]
    wanted = re.compile(rb'"episode":%s,"tick":%s,' % (numbers[0], numbers[1]))
    try:
        with run.open("rb") as lines:
            newest = deque((line for line in lines if wanted.search(line[:500])), _CANDIDATES)
    except OSError as error:
        raise StoreError(f"{run} cannot be read: {error.strerror}") from error
    return list(_snapshots(reversed(newest)))


def _snapshots(lines: Iterable[bytes]) -> Iterator[LoopSnapshot]:
    for line in lines:
        try:
            yield LoopSnapshot.model_validate_json(line)
        except ValidationError:
            continue  # The run may be writing this very line.
