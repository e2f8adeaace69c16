"""A judge model grades the answers of a run: without names, in an order drawn by the seed.

Hallucination H and drift D follow section 5 of ACC (arXiv 2601.11653): H is the share of claims
that the rubric does not bear out (the judge does not see the dialogue), D is violations and
omissions together, a point of the rubric.
"""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from google.adk.models.base_llm import BaseLlm
from pydantic import Field, ValidationError

from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import AgentSettings
from acc_ace.core.schemas.base import Value
from acc_ace.core.text.prompt import Lines, load_prompt
from acc_ace.errors import InputError, ModelUnavailable
from acc_ace.ext.lab.dialogues.dialogue import Inquiry
from acc_ace.ext.lab.temptation.meter import MeteredLlm, TrialMeter
from acc_ace.ext.lab.temptation.runs import CostCeiling
from acc_ace.turn.structured_call import parser, structured_call

_PROMPT: Final = Path(__file__).parent / "judge.md"
_REPAIRS: Final = 1
_PATIENCE: Final = 10


class AnswerVerdict(Value):
    """What a judge says of an answer."""

    claims: int = Field(ge=0, le=1_000)
    unsupported: int = Field(ge=0, le=1_000)
    violations: int = Field(ge=0, le=1_000)
    omissions: int = Field(ge=0, le=1_000)
    relevance: float = Field(ge=0, le=10)
    quality: float = Field(ge=0, le=10)
    instruction_following: float = Field(ge=0, le=10)
    coherence: float = Field(ge=0, le=10)


class BlindItem(NamedTuple):
    """An answer to judge, by a key that a judge never sees."""

    key: str
    inquiry: Inquiry
    answer: str


class Judge(NamedTuple):
    """The model that judges, and how it is asked."""

    model: BaseLlm
    settings: AgentSettings


class JudgedLine(Value):
    """A line of `judged.jsonl`; without a verdict where the judge's replies stayed unusable."""

    key: str
    judge: str = Field(description="The model's name.")
    points: int = Field(description="Of the rubric.")
    verdict: AnswerVerdict | None = None
    problem: str = ""
    nano_usd: int = Field(default=0, description="Billionths of a dollar by list price.")


async def judge_all(
    items: Iterable[BlindItem], judge: Judge, file: Path, *, seed: int, purse: CostCeiling
) -> None:
    """Judge what has no verdict in the file yet, and append a line for each.

    A judge that does not answer, or answers nonsense twice, leaves a line that names the problem;
    the next start asks again. Raises SpendingCeilingError when the purse is empty, and
    ModelUnavailable after ten in a row without a verdict.
    """
    before = read_judged(file)
    _write(file, before.values())
    done = {key for key, line in before.items() if line.verdict and line.judge == judge.model.model}
    waiting = sorted((item for item in items if item.key not in done), key=lambda item: item.key)
    random.Random(seed).shuffle(waiting)  # noqa: S311 - repeatable, no secret
    in_vain = 0
    for item in waiting:
        purse.require()
        line = await _judged(item, judge)
        purse.pay(line.nano_usd)
        if item.key in before:
            paid = line.nano_usd + before[item.key].nano_usd
            line = line.model_copy(update={"nano_usd": paid})
        with file.open("a", encoding="utf-8") as lines:
            lines.write(line.model_dump_json() + "\n")
        in_vain = 0 if line.verdict else in_vain + 1
        if in_vain == _PATIENCE:
            raise ModelUnavailable(f"no verdict on {in_vain} answers in a row; {line.problem}")


async def _judged(item: BlindItem, judge: Judge) -> JudgedLine:
    meter = TrialMeter()
    model = MeteredLlm(judge.model, meter)
    inputs = {
        "question": item.inquiry.ask,
        "rubric": Lines("\n".join(item.inquiry.rubric)),
        "answer": item.answer,
    }
    result = await structured_call(
        DirectCompletion(model, AnswerVerdict, judge.settings),
        load_prompt(_PROMPT),
        inputs,
        parser(AnswerVerdict),
        repairs=_REPAIRS,
    )
    return JudgedLine(
        key=item.key,
        judge=judge.model.model,
        points=len(item.inquiry.rubric),
        verdict=result.value,
        problem="" if result.value else "; ".join(result.warnings)[:500],
        nano_usd=meter.cost().nano_usd or 0,
    )


def _write(file: Path, lines: Iterable[JudgedLine]) -> None:
    """Without a line that was cut off, so that the next one begins a line."""
    whole = file.with_suffix(".new")
    whole.write_text("".join(f"{line.model_dump_json()}\n" for line in lines), encoding="utf-8")
    whole.replace(file)


def read_judged(file: Path) -> dict[str, JudgedLine]:
    """The newest line of each key, but for a last one that was cut off.

    Raises InputError for a file that is no such lines.
    """
    if not file.exists():
        return {}
    try:
        *whole, _ = file.read_text(encoding="utf-8").split("\n")
        rows = [JudgedLine.model_validate_json(line) for line in whole]
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(f"--out: {file} cannot be read ({error})") from error
    return {row.key: row for row in rows}


class JudgeMeans(NamedTuple):
    """The means over a contender's verdicts; None without one."""

    judged: int
    unjudged: int
    hallucination: float | None
    drift: float | None
    relevance: float | None
    quality: float | None
    instruction_following: float | None
    coherence: float | None
    dollars: float
    """Of all that the judge was asked."""


def judge_means(lines: Sequence[JudgedLine]) -> JudgeMeans:
    """H, D and the means of the scores."""
    verdicts = [line.verdict for line in lines if line.verdict]
    points = sum(line.points for line in lines if line.verdict)
    claims = sum(one.claims for one in verdicts)
    lapses = sum(
        min(line.verdict.violations + line.verdict.omissions, line.points)
        for line in lines
        if line.verdict
    )
    unsupported = sum(min(one.unsupported, one.claims) for one in verdicts)
    return JudgeMeans(
        judged=len(verdicts),
        unjudged=len(lines) - len(verdicts),
        hallucination=unsupported / max(claims, 1) if verdicts else None,
        drift=lapses / max(points, 1) if verdicts else None,
        relevance=_mean([one.relevance for one in verdicts]),
        quality=_mean([one.quality for one in verdicts]),
        instruction_following=_mean([one.instruction_following for one in verdicts]),
        coherence=_mean([one.coherence for one in verdicts]),
        dollars=sum(line.nano_usd for line in lines) / 1e9,
    )


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None
