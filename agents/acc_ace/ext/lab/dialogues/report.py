"""A run over dialogues as a page: what was shown, what was answered, what a judge says."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from acc_ace.ext.lab.dialogues.judging import JudgedLine, JudgeMeans, judge_means
from acc_ace.ext.lab.dialogues.plan import DialoguePlan
from acc_ace.ext.lab.dialogues.playing import DialogueGrade, InquiryReply
from acc_ace.ext.lab.temptation.page import PagePlot, PageTable, Section, write_page
from acc_ace.ext.lab.temptation.runs import Results
from acc_ace.ext.lab.temptation.tables import Tally

_LEAD: Final = (
    "A dialogue is played to each memory as it was recorded; then, or in between, the user asks "
    "about it. <b>Shown</b>: questions whose facts all stood in the agent's request, word for "
    "word. <b>Right</b>: questions whose answer has all of them."
)
_SCRIPTED: Final = (
    "<b>The agent of this run is a script, not a language model.</b> It says the facts that its "
    "request shows, else an earlier value, else that it does not know: the table says what a "
    "memory shows. "
)
_UNJUDGED: Final = (
    "<b>No model judged these answers</b>: nobody says whether an instruction was followed, "
    "whether an answer is relevant, good or coherent, or whether a model made a claim up: only "
    "earlier values count as such, and only questions whose facts stand in the dialogue word for "
    "word."
)
_READ: Final = (
    "Counts with a 95 % interval (Wilson). H: of answers that have a value, those that have an "
    "earlier one. D: of questions that code can judge, those answered with an earlier value or not "
    "at all. M mean and last: tokens of the agent's requests, over all turns and in the last."
)
_JUDGE: Final = (
    "It sees question, rubric and answer without a name, in an order drawn "
    "by the seed. H: claims without support, of all claims. D: violations and omissions, a point "
    "of the rubric. The other four from 0 to 10. Unjudged: its replies stayed unusable."
)


Place = TypeVar("Place", bound=Hashable)


class DialogueRow(NamedTuple):
    """What became of a contender's dialogues."""

    contender: str
    visible: Tally
    right: Tally
    hallucination: Tally
    drift: Tally
    mean_tokens: float
    last_tokens: float
    calls: float
    tokens_in: float
    dollars: float | None
    seconds: float


def dialogue_rows(grades: Iterable[DialogueGrade]) -> list[DialogueRow]:
    """One for each contender, in order of appearance."""
    return [_row(str(name), own) for name, own in _grouped(grades, _name).items()]


def _name(grade: DialogueGrade) -> str:
    return grade.contender


def _grouped(
    grades: Iterable[DialogueGrade], key: Callable[[DialogueGrade], Place]
) -> dict[Place, list[DialogueGrade]]:
    groups: dict[Place, list[DialogueGrade]] = {}
    for grade in grades:
        groups.setdefault(key(grade), []).append(grade)
    return groups


def _replies(own: Iterable[DialogueGrade], kind: str = "") -> list[InquiryReply]:
    every = (reply for grade in own for reply in grade.replies)
    return [reply for reply in every if kind in {"", reply.kind}]


def _visible(replies: Sequence[InquiryReply]) -> Tally:
    judged = [reply for reply in replies if reply.facts]
    return Tally(sum(reply.visible == reply.facts for reply in judged), len(judged))


def _row(name: str, own: Sequence[DialogueGrade]) -> DialogueRow:
    replies = _replies(own)
    judged = [reply for reply in replies if reply.right is not None]
    right, outdated = sum(bool(one.right) for one in judged), sum(one.outdated for one in judged)
    nano = [one.cost.nano_usd for one in own]
    paid = [price for price in nano if price is not None]

    def mean(value: Callable[[DialogueGrade], float]) -> float:
        return sum(map(value, own)) / len(own)

    return DialogueRow(
        contender=name,
        visible=_visible(replies),
        right=Tally(right, len(judged)),
        hallucination=Tally(outdated, right + outdated),
        drift=Tally(len(judged) - right, len(judged)),
        mean_tokens=mean(lambda one: one.mean_tokens),
        last_tokens=mean(lambda one: one.last_tokens),
        calls=mean(lambda one: one.cost.calls),
        tokens_in=mean(lambda one: one.cost.tokens_in),
        dollars=sum(paid) / 1e9 / len(own) if len(paid) == len(nano) else None,
        seconds=mean(lambda one: one.cost.seconds),
    )


def write_dialogue_report(
    folder: Path,
    plan: DialoguePlan,
    results: Results[DialogueGrade],
    verdicts: Mapping[str, Sequence[JudgedLine]],
    command: str,
) -> Path:
    """Write the page and its plot into the run's folder; returns the page."""
    grades = results.grades
    _plots(grades).savefig(folder / "shown.png", dpi=144)
    is_judged = any(verdicts.values())
    return write_page(
        folder,
        title=f"What is left of a long dialogue? ({plan.suite})",
        lead=_LEAD,
        about=_about(plan, grades),
        warning=f"{'' if plan.model else _SCRIPTED}{'' if is_judged else _UNJUDGED}",
        sections=[
            Section(
                "Contenders",
                [PagePlot("shown.png", "Share of facts shown"), _contenders(dialogue_rows(grades))],
                _READ,
            ),
            *_of_the_judge(verdicts),
            Section("Facts shown, by kind of question", [_by_kind(grades)]),
            Section("Facts shown, by loss and by budget", [_by_place(grades)]),
        ],
        failures=results.failures,
        command=command,
    )


def _about(plan: DialoguePlan, grades: Sequence[DialogueGrade]) -> str:
    dialogues, answers = len({one.dialogue for one in grades}), len(_replies(grades))
    who = plan.model or "a scripted agent"
    memory = plan.memory or "the key-free engine"
    return (
        f"{len(grades):,} plays of {dialogues} dialogues, {answers:,} answers · questions answered "
        f"by {who} · memory kept by {memory} · seed {plan.seed} · data {plan.data}"
    )


def _contenders(rows: Sequence[DialogueRow]) -> PageTable:
    head = ("contender", "shown", "right", "H", "D", "M mean", "M last", "calls", "tokens in")
    body = [
        (
            *row[:5],
            *(f"{n:,.0f}" for n in row[5:9]),
            "–" if row.dollars is None else f"{row.dollars:.4f}",
            f"{row.seconds:.1f}",
        )
        for row in rows
    ]
    return PageTable((*head, "$", "seconds"), body)


def _of_the_judge(verdicts: Mapping[str, Sequence[JudgedLine]]) -> list[Section]:
    judges = sorted({line.judge for lines in verdicts.values() for line in lines})
    if not judges:
        return []
    head = [name.replace("_", " ") for name in JudgeMeans._fields[:-1]]
    body = [(name, *_cells(judge_means(lines))) for name, lines in verdicts.items() if lines]
    table = PageTable(("contender", *head, "$"), body)
    return [Section("The judge", [table], f"By {', '.join(judges)}. {_JUDGE}")]


def _cells(means: JudgeMeans) -> list[object]:
    scores = ["–" if score is None else f"{score:.2f}" for score in means[2:-1]]
    return [*means[:2], *scores, f"{means.dollars:.4f}"]


def _by_kind(grades: Sequence[DialogueGrade]) -> PageTable:
    kinds = [*dict.fromkeys(reply.kind for reply in _replies(grades))]
    body = [
        (str(name), *(_visible(_replies(own, kind)) for kind in kinds))
        for name, own in _grouped(grades, _name).items()
    ]
    return PageTable(("contender", *kinds), body)


def _by_place(grades: Sequence[DialogueGrade]) -> PageTable:
    places = sorted({(one.loss, one.budget) for one in grades}, key=lambda it: (it[0], -it[1]))
    body = []
    for name, own in _grouped(grades, _name).items():
        cells = _grouped(own, lambda one: (one.loss, one.budget))
        body.append((str(name), *(_visible(_replies(cells.get(place, []))) for place in places)))
    head = [f"loss {loss:g}, {budget:,} tokens" for loss, budget in places]
    return PageTable(("contender", *head), body)


def _plots(grades: Sequence[DialogueGrade]) -> Figure:
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    turns, losses, budgets = figure.subplots(1, 3)
    for name, own in _grouped(grades, _name).items():
        replies = _replies(own)
        at = {turn: [one for one in replies if one.turn == turn] for turn in _turns(replies)}
        _line(turns, str(name), {turn: _visible(some).share for turn, some in at.items()})
        _line(losses, str(name), _shares(own, lambda one: one.loss))
        _line(budgets, str(name), _shares(own, lambda one: one.budget))
    turns.set(xlabel="exchanges before the question", ylabel="facts shown", ylim=(-0.02, 1.02))
    losses.set(xlabel="loss of the memory", ylim=(-0.02, 1.02))
    budgets.set(xlabel="budget in tokens", ylim=(-0.02, 1.02))
    if grades:
        budgets.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _turns(replies: Sequence[InquiryReply]) -> list[int]:
    return sorted({reply.turn for reply in replies})


def _shares(
    own: Sequence[DialogueGrade], key: Callable[[DialogueGrade], float]
) -> dict[float, float]:
    places = sorted({key(one) for one in own})
    return {
        place: _visible(_replies([one for one in own if key(one) == place])).share
        for place in places
    }


def _line(axes: Axes, name: str, points: Mapping[float, float] | Mapping[int, float]) -> None:
    axes.plot([*points], [*points.values()], marker="o", markersize=3, label=name)
