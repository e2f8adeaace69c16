"""How much of the evidence that recall finds reaches the Generator's prompt, and at what size.

    python -m bench.evidence_reach DATA [--dialogues 3] [--half HALF] [--questions 60]
        [--memory MEMORY] [--only NAME ...] [--json]

Memory holds one LoCoMo dialogue: `utterances`, an artifact each; `bare`, the same as records of an
imported JSONL document that has their texts alone; `imported`, with who spoke, when, in which
session and turn; `turns`, two utterances an exchange, as a session leaves them. The halves are
those of bench.recall_transfer: nothing is tuned on `held`. Each question is asked in a session of
its own, through the whole pipeline; the embedded model plays every role, and what the Generator is
sent is read on the way. `replay`, `window` and `summary` have the dialogue as the messages of one
request instead, two utterances a turn. `acc, CCM names nothing` has a
Compressor that leaves every field empty: what is in its prompt, code alone put there.

An utterance is in a prompt if whole sentences of it that make up half of its words are. `answered`
is the share of questions whose gold answer stands, word for word, in the embedded model's answer,
searches by its tool included; most gold answers are no quotations, so it is low for all.
"""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.bootstrap import build_container
from acc_ace.config import Role, Settings
from acc_ace.container import Container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, DocumentForm
from acc_ace.core.schemas.base import Authority, SessionKey, Tenant
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput, Interaction, TurnInput
from acc_ace.core.schemas.message import Message
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens
from acc_ace.ext.documents.document_import import import_document
from acc_ace.ext.embedded.model import EmbeddedLlm
from acc_ace.ext.strategies import contents_of, sliding_window, summarised
from acc_ace.turn.steps import recall_query
from acc_ace.turn.transcript import messages_of
from bench.recall.corpus import ADVERSARIAL, Corpus, CorpusPassage, Question, read_corpora
from bench.recall_transfer import HALVES, half_of, in_pairs
from bench.workload import request_text

_HALF = 0.5


_BUDGET = 8_192
"""Tokens of the messages of `window` and `summary`."""


class Contender(NamedTuple):
    """Our app, or `by` which messages are chosen for a plain request; `names`: see above."""

    by: Callable[[list[Message]], Awaitable[list[Message]]] | None = None
    names: bool = True


async def _replay(messages: list[Message]) -> list[Message]:
    return messages


async def _window(messages: list[Message]) -> list[Message]:
    return sliding_window(messages, budget=_BUDGET)


async def _summary(messages: list[Message]) -> list[Message]:
    return await summarised(messages, budget=_BUDGET, summarizer=_newest_words)


async def _newest_words(known: str, messages: Sequence[Message]) -> str:
    """As many of the newest messages as fit into a summary, clipped: what an extract can keep."""
    lines = [clip_tokens(message.content or "", 40) for message in reversed(messages)]
    sizes = accumulate(map(estimate_tokens, lines))
    fitting = [line for line, size in zip(lines, sizes, strict=True) if size <= _SUMMARY]
    return "\n".join(reversed(fitting))


_SUMMARY = 800

CONTENDERS: Mapping[str, Contender] = {
    "acc": Contender(),
    "acc, CCM names nothing": Contender(names=False),
    "replay": Contender(_replay),
    "window": Contender(_window),
    "summary": Contender(_summary),
}


@dataclass(frozen=True)
class Row:
    """What one contender's prompts hold, over all questions."""

    contender: str
    questions: int
    recalled: float
    """Share of all evidence that the store's recall finds."""
    in_prompt: float
    """Share of all evidence that is in the prompt."""
    of_recalled: float
    """Share of the recalled evidence that is in the prompt."""
    tokens: float
    """Mean tokens of the prompt."""
    answered: float
    """Share of the questions whose gold answer is in the answer."""


class Outcome(NamedTuple):
    """One question: its evidence, what of it was recalled and shown, the prompt and the answer."""

    evidence: frozenset[str]
    recalled: frozenset[str]
    shown: frozenset[str]
    tokens: int
    answered: bool


class FirstPrompt(EmbeddedLlm):
    """The embedded model, which keeps the first request of each turn."""

    _text: str = PrivateAttr(default="")

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Keep the request, then answer."""
        self._text = self._text or request_text(llm_request)
        async for response in super().generate_content_async(llm_request, stream):
            yield response

    def take(self) -> str:
        """The first request since the last call."""
        text, self._text = self._text, ""
        return text


class EmptyCcm(BaseLlm):
    """A Compressor that writes nothing but a gist."""

    model: str = "scripted/empty"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer at once."""
        reply = json.dumps(_EMPTY)
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text=reply)]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=estimate_tokens(request_text(llm_request)),
                candidates_token_count=estimate_tokens(reply),
            ),
        )


_EMPTY: Mapping[str, object] = {
    "episodic_trace": "",
    "semantic_gist": "The user asks a question.",
    "focal_entities": [],
    "relational_map": [],
    "goal_orientation": "",
    "constraints": [],
    "predictive_cue": None,
    "uncertainty_signal": "",
    "retrieved_artifacts": [],
    "rule_changes": [],
}


class AfterDialogue:
    """The clock of a time just after all that was said."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        """Always the same."""
        return self._at


Hold = Callable[[Container, Tenant, Corpus], Awaitable[None]]


async def _utterances(container: Container, tenant: Tenant, corpus: Corpus) -> None:
    await container.artifacts.add([_artifact(tenant, passage) for passage in corpus.passages])


async def _bare(container: Container, tenant: Tenant, corpus: Corpus) -> None:
    await import_document(container, tenant, _Records(corpus, with_place=False))


async def _imported(container: Container, tenant: Tenant, corpus: Corpus) -> None:
    await import_document(container, tenant, _Records(corpus, with_place=True))


async def _turns(container: Container, tenant: Tenant, corpus: Corpus) -> None:
    pairs = in_pairs(corpus).passages
    await container.artifacts.add(
        [
            _artifact(tenant, pair).model_copy(
                update={
                    "artifact_id": f"turn:past-{pair.session}:{pair.turn}",
                    "kind": ArtifactKind.TURN,
                    "authority": Authority.AGENT,
                    "source": "turn",
                    "session": f"past-{pair.session}",
                }
            )
            for pair in pairs
        ]
    )


MEMORIES: Mapping[str, Hold] = {
    "utterances": _utterances,
    "bare": _bare,
    "imported": _imported,
    "turns": _turns,
}


class _Records(NamedTuple):
    """A dialogue as a JSONL document, a record an utterance."""

    corpus: Corpus
    with_place: bool
    name: str = "dialogue.jsonl"
    form: DocumentForm = DocumentForm.JSONL
    encoding: str = "utf-8"
    lenient: bool = False

    def blocks(self) -> Generator[bytes, None, None]:
        for passage in self.corpus.passages:
            record: dict[str, object] = {"id": passage.passage_id, "content": passage.text}
            if self.with_place:
                record |= {"content": _said(passage), "speaker": passage.speaker}
                record |= {"session": passage.session, "turn": passage.turn}
                record |= {"at": passage.created_at.isoformat()}
            yield f"{json.dumps(record)}\n".encode()


async def ask_all(contender: Contender, corpus: Corpus, hold: Hold = _utterances) -> list[Outcome]:
    """Ask every question about one dialogue."""
    container = build_container(Settings(store="memory"), AfterDialogue(corpus.asked_at))
    tenant = Tenant(APP_NAME, corpus.name)
    await hold(container, tenant, corpus)
    generator = FirstPrompt()
    models: dict[Role, BaseLlm] = {"generator": generator}
    if not contender.names:
        models["compressor"] = EmptyCcm()
    conversation = Conversation(container, models=models)
    ask = _Asking(container, conversation, generator, contender, corpus)
    outcomes = [await ask.about(at, question) for at, question in enumerate(corpus.questions)]
    await conversation.close()
    return outcomes


class _Asking(NamedTuple):
    container: Container
    conversation: Conversation
    generator: FirstPrompt
    contender: Contender
    corpus: Corpus

    @property
    def past(self) -> list[Interaction]:
        """The dialogue as the turns of a session."""
        pairs = zip(self.corpus.passages[::2], [*self.corpus.passages[1::2], None], strict=False)
        return [_turn(number, *pair) for number, pair in enumerate(pairs, start=1)]

    async def about(self, number: int, question: Question) -> Outcome:
        """Ask one question, which later ones know nothing of."""
        key = self._key(number)
        recalled = await self._recalled(key, question)
        self.generator.take()
        if self.contender.by is None:
            answer = (await self.conversation.turn(key, question.text)).answer
        else:
            answer = await self._answer(await self.contender.by(self._messages(question)))
        prompt = self.generator.take()
        await self.container.artifacts.erase(key.tenant, key.session)
        words = _words(prompt)
        shown = (p.passage_id for p in self.corpus.passages if _is_in(words, _said(p)))
        return Outcome(
            question.evidence,
            recalled & question.evidence,
            question.evidence.intersection(shown),
            estimate_tokens(prompt),
            _words(question.answer) in _words(answer),
        )

    def _messages(self, question: Question) -> list[Message]:
        """The dialogue, and the question as its last message."""
        asked = Interaction(
            turn=len(self.past) + 1,
            invocation_id="asked",
            input=TurnInput(text=question.text),
            created_at=self.container.clock.now(),
        )
        return messages_of([*self.past, asked])

    async def _answer(self, messages: list[Message]) -> str:
        request = LlmRequest(contents=contents_of(messages))
        parts = [
            part
            async for response in self.generator.generate_content_async(request)
            for part in (response.content.parts if response.content else None) or []
        ]
        return "".join(part.text or "" for part in parts)

    def _key(self, number: int) -> SessionKey:
        """A session for each question."""
        return SessionKey(APP_NAME, self.corpus.name, f"asked-{number}")

    async def _recalled(self, key: SessionKey, question: Question) -> frozenset[str]:
        query = recall_query(
            key,
            TurnInput(text=question.text),
            CommittedState(),
            self.container.settings.limits,
            at=self.container.local_now(),
        )
        found = await self.container.artifacts.recall(query)
        return frozenset(
            name for candidate in found.candidates for name in self._held_by(candidate.artifact)
        )

    def _held_by(self, artifact: Artifact) -> list[str]:
        """The utterances that an artifact holds."""
        if artifact.kind is ArtifactKind.TURN:
            session = (artifact.session or "").removeprefix("past-")
            said = [each for each in self.corpus.passages if each.session == session]
            first = 2 * (artifact.turn or 1) - 2
            return [each.passage_id for each in said[first : first + 2]]
        return [(artifact.document and artifact.document.record) or artifact.artifact_id]


def _said(passage: CorpusPassage) -> str:
    """What is said, without the label that says by whom."""
    return passage.text.removeprefix(f"{passage.speaker}: ")


def _artifact(tenant: Tenant, passage: CorpusPassage) -> Artifact:
    return Artifact(
        artifact_id=passage.passage_id,
        content=passage.text,
        source="dialogue",
        created_at=passage.created_at,
        tenant=tenant,
        session=passage.session,
        turn=passage.turn,
    )


def _turn(number: int, said: CorpusPassage, answered: CorpusPassage | None) -> Interaction:
    answer = answered.text if answered else ""
    return Interaction(
        turn=number,
        invocation_id=f"past-{number}",
        input=TurnInput(text=said.text),
        decision=GeneratorOutput(final_answer=answer),
        created_at=said.created_at,
    )


_ESCAPED = re.compile(r'\\u[0-9a-f]{4}|\\[nrt"]')
_WORD = re.compile(r"\w+")


def _words(text: str) -> str:
    """The words of a text, whatever quotes, margins or escapes stand between them."""
    return f" {' '.join(_WORD.findall(_ESCAPED.sub(' ', text.casefold())))} "


def _is_in(prompt: str, passage: str) -> bool:
    """Whether whole sentences that make up half of a passage's words are in a prompt."""
    sentences = [_words(sentence) for sentence in split_sentences(passage)]
    shown = sum(len(words) for words in sentences if words in prompt)
    return shown >= _HALF * sum(map(len, sentences))


def row(name: str, outcomes: Sequence[Outcome]) -> Row:
    """The shares over all evidence, each utterance counted once for each question."""
    evidence = sum(len(each.evidence) for each in outcomes)
    recalled = sum(len(each.recalled) for each in outcomes)
    both = sum(len(each.recalled & each.shown) for each in outcomes)
    return Row(
        contender=name,
        questions=len(outcomes),
        recalled=round(recalled / evidence, 3),
        in_prompt=round(sum(len(each.shown) for each in outcomes) / evidence, 3),
        of_recalled=round(both / recalled, 3) if recalled else 0.0,
        tokens=round(sum(each.tokens for each in outcomes) / len(outcomes)),
        answered=round(sum(each.answered for each in outcomes) / len(outcomes), 3),
    )


def corpora_of(
    data: Path, *, dialogues: int, questions: int, half: str | None = None
) -> list[Corpus]:
    """The first dialogues (of a half), each with as many answerable questions, evenly spread.

    Raises InputError when the file cannot be read.
    """
    whole = read_corpora(data)
    found = (half_of(whole, half) if half else whole)[:dialogues]
    return [corpus._replace(questions=_spread(corpus.questions, questions)) for corpus in found]


def _spread(questions: Sequence[Question], count: int) -> list[Question]:
    open_ones = [item for item in questions if item.category != ADVERSARIAL]
    count = min(count, len(open_ones))
    return [open_ones[at * len(open_ones) // count] for at in range(count)]


async def measure(
    corpora: Sequence[Corpus], names: Sequence[str], hold: Hold
) -> AsyncGenerator[Row, None]:
    """One contender after the other."""
    for name in names:
        outcomes = [
            each for corpus in corpora for each in await ask_all(CONTENDERS[name], corpus, hold)
        ]
        yield row(name, outcomes)


def _line(item: Row) -> str:
    return (
        f"{item.contender:24} {item.questions:9} {item.recalled:9.3f} {item.in_prompt:10.3f} "
        f"{item.of_recalled:12.3f} {item.tokens:8,.0f} {item.answered:9.3f}"
    )


_HEAD = (
    f"{'contender':24} {'questions':>9} {'recalled':>9} {'in prompt':>10} "
    f"{'of recalled':>12} {'tokens':>8} {'answered':>9}"
)


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    corpora = corpora_of(
        options.data,
        dialogues=options.dialogues,
        questions=options.questions,
        half=options.half,
    )
    if not options.json:
        print(_HEAD)
    rows = []
    async for item in measure(corpora, options.only or list(CONTENDERS), MEMORIES[options.memory]):
        rows.append(asdict(item))
        if not options.json:
            print(_line(item), flush=True)
    if options.json:
        json.dump(rows, sys.stdout)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="dialogues in the format of LoCoMo")
    parser.add_argument("--dialogues", type=int, default=3)
    parser.add_argument("--questions", type=int, default=60, help="of each dialogue, at most")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--memory", choices=list(MEMORIES), default="utterances")
    parser.add_argument("--only", action="append", choices=list(CONTENDERS))
    parser.add_argument("--json", action="store_true")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
