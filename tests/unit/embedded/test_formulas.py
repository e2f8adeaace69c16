"""Claims about calculating with a formula of the question, and what a known answer teaches."""

import pytest

from schemas.delta import DeltaType
from schemas.generation import GeneratorOutput
from tests.unit.embedded.requests import curate, generate, reflect


def task(name: str, formula: str, explanation: str, question: str) -> str:
    return (
        f"Use formula {name} to answer the question. Answer with a number. Formula: {formula}, "
        f"Explanation: {explanation}. Question: {question}. Answer:"
    )


SPREAD = (
    "Net Spread",
    "Net Spread = Gross Take - Running Costs",
    "Gross Take: All that comes in, Running Costs: What is paid out",
)


async def answered(text: str, playbook: str = "") -> GeneratorOutput:
    output = await generate(text, playbook=playbook)
    assert isinstance(output, GeneratorOutput)
    return output


@pytest.mark.parametrize(
    ("name", "formula", "explanation", "question", "answer"),
    [
        (
            "Load Ratio",
            "Load Ratio = Served Load / Rated Load",
            "Served Load: Load served now, Rated Load: Load by design",
            "A pump has a rated load of 400 and a served load of 100",
            "0.25",
        ),
        (
            "Mark",
            "Mark = (Points Won / Points Possible) × 100",
            "Points Won: Points of the player, Points Possible: Most points",
            "Of 80 points possible, 60 points were won",
            "75.00",
        ),
        (
            "Growth",
            "V = P (1 + r)^n",
            "P: Amount at the start, r: Rate of growth, n: Number of years",
            "An amount of $2,000 at the start, a rate of growth of 10% and 2 years",
            "2420.00",
        ),
        (
            "Reach",
            "Reach = Copies + Readers",
            "Copies: Copies printed, Readers: Readers online",
            "In 2024 there were 1.5 million copies printed and 500,000 readers online",
            "2000000.00",
        ),
        (
            "Work",
            "W = Fs",
            "F: Force applied, s: Distance moved",
            "A distance of 3 was moved with a force of 4 applied",
            "12.00",
        ),
    ],
)
async def test_a_formula_of_the_question_is_calculated(
    name: str, formula: str, explanation: str, question: str, answer: str
) -> None:
    output = await answered(task(name, formula, explanation, question))
    assert output.final_answer == answer
    assert output.bullet_ids == []


async def learnt() -> str:
    """The playbook after an answer that took the numbers the wrong way round."""
    text = task(*SPREAD, "A stall spent 30 on flour and earned 100 at the till")
    output = await answered(text)
    assert output.final_answer == "-70.00"
    reflection = await reflect(
        text, generation=output.model_dump(mode="json"), feedback=[{"ground_truth": "70"}]
    )
    batch = await curate(reflection.model_dump(mode="json"))
    assert {item.type for item in batch.operations} == {DeltaType.ADD}
    lines = [
        f"[b-{at:05}] helpful=0 harmful=0 :: {item.content}"
        for at, item in enumerate(batch.operations, start=1)
    ]
    return "\n".join(["## pitfalls", *lines])


async def test_a_lesson_from_a_known_answer_puts_the_numbers_of_a_like_question_right() -> None:
    like = task(*SPREAD, "A cart spent 45 on fruit and earned 80 at the till")
    assert (await answered(like)).final_answer == "-35.00"
    output = await answered(like, await learnt())
    assert output.final_answer == "35.00"
    assert set(output.bullet_ids) == {"b-00001", "b-00002"}


async def test_a_lesson_holds_no_number_of_the_case() -> None:
    playbook = await learnt()
    assert "earned" in playbook
    assert not {"30", "100", "70"} & set(playbook.replace(".", " ").replace('"', " ").split())


async def test_a_truth_that_no_way_leads_to_teaches_nothing() -> None:
    text = task(*SPREAD, "A stall spent 30 on flour and earned 100 at the till")
    reflection = await reflect(
        text, generation={"final_answer": "-70.00"}, feedback=[{"ground_truth": "12345"}]
    )
    assert reflection.key_insight == ""


@pytest.mark.parametrize(
    "formula",
    ["A / B = C / D", "Sum = ∑ x_i", "Odd = a ; b", "Blank =", "Zero = a / (b - b)"],
)
async def test_what_cannot_be_calculated_is_answered_as_any_other_question(formula: str) -> None:
    text = task("X", formula, "a: First, b: Second", "The first is 1 and the second is 2")
    output = await answered(text)
    assert output.final_answer
    assert "into the formula" not in output.reasoning[0]
