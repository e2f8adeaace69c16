"""Claims about choosing named options, and about what a known answer teaches."""

from schemas.delta import DeltaType
from schemas.generation import GeneratorOutput
from tests.unit.embedded.requests import curate, generate, reflect

TASK = (
    "Route each ticket. Queues are the options: BillingDispute,PasswordReset,NetworkOutage,"
    "HardwareRepair,AccountClosure. Answer in order, separated by commas.\n"
    '1. Which queue is best for "{}" in the ticket: "Our {} at the office again."\n'
    '2. Which queue is best for "reset" in the ticket: "Please reset the password of my login."'
)
TRUTH = "NetworkOutage,PasswordReset"


async def answered(task: str, playbook: str = "") -> GeneratorOutput:
    output = await generate(task, playbook=playbook)
    assert isinstance(output, GeneratorOutput)
    return output


async def learnt(word: str, truth: str = TRUTH) -> str:
    """The playbook after one wrong answer whose truth became known."""
    task = TASK.format(word, f"slow {word} drops")
    output = await answered(task)
    reflection = await reflect(
        task,
        generation=output.model_dump(mode="json"),
        feedback=[{"ground_truth": truth}],
    )
    batch = await curate(reflection.model_dump(mode="json"))
    assert {item.type for item in batch.operations} == {DeltaType.ADD}
    lines = [
        f"[b-{number:05}] helpful=0 harmful=0 :: {item.content}"
        for number, item in enumerate(batch.operations, start=1)
    ]
    return "\n".join(["## choices", *lines])


async def test_an_option_is_chosen_by_its_name() -> None:
    output = await answered(TASK.format("wifi", "slow wifi drops"))
    assert output.final_answer.split(",")[1].startswith("PasswordReset")
    assert output.bullet_ids == []


async def test_a_lesson_from_a_known_answer_changes_the_choice_for_a_like_question() -> None:
    like = TASK.format("wifi", "new wifi drops")
    before = await answered(like)
    after = await answered(like, await learnt("wifi"))
    assert not before.final_answer.startswith("NetworkOutage")
    assert after.final_answer.startswith("NetworkOutage,PasswordReset")
    assert after.bullet_ids == ["b-00001"]


async def test_a_lesson_that_did_more_harm_than_good_is_left_alone() -> None:
    playbook = (await learnt("wifi")).replace("harmful=0", "harmful=2")
    output = await answered(TASK.format("wifi", "new wifi drops"), playbook)
    assert not output.final_answer.startswith("NetworkOutage")


async def test_a_lesson_holds_no_name_and_no_number() -> None:
    playbook = await learnt("wifi in Building 42 of Acme")
    assert "Acme" not in playbook
    assert "42" not in playbook


async def test_only_the_questions_that_went_wrong_teach() -> None:
    playbook = await learnt("wifi")
    assert playbook.count("choose") == 1
    assert "NetworkOutage" in playbook


async def test_lessons_are_tagged_by_what_became_of_their_option() -> None:
    task = TASK.format("wifi", "slow wifi drops")
    bullets = [
        {"id": "b-00001", "content": 'Asked about "wifi", choose HardwareRepair.'},
        {"id": "b-00002", "content": 'Asked about "login", choose PasswordReset.'},
        {"id": "b-00003", "content": 'Asked about "card", choose BillingDispute.'},
    ]
    reflection = await reflect(
        task,
        generation={"final_answer": "HardwareRepair,PasswordReset"},
        used_bullets=bullets,
        feedback=[{"ground_truth": TRUTH}],
    )
    tags = {tag.id: tag.tag for tag in reflection.bullet_tags}
    assert tags == {"b-00001": "harmful", "b-00002": "helpful", "b-00003": "neutral"}


async def test_without_a_ground_truth_no_choice_is_learnt() -> None:
    reflection = await reflect(
        TASK.format("wifi", "slow wifi drops"),
        generation={"final_answer": "HardwareRepair,PasswordReset"},
        feedback=[{"reward": -1.0}],
    )
    assert reflection.key_insight == ""


async def test_a_lesson_for_another_option_is_another_lesson() -> None:
    playbook = await learnt("wifi")
    other = playbook.split(" :: ")[1].replace("NetworkOutage", "HardwareRepair")
    batch = await curate({"key_insight": other, "error_identification": "wrong"}, playbook)
    assert [item.type for item in batch.operations] == [DeltaType.ADD]


async def test_a_list_of_options_in_ordinary_talk_is_no_task() -> None:
    output = await answered("Our options: wait, retry, restart, escalate. What do you think?")
    assert "chose by the names" not in output.reasoning[0]
