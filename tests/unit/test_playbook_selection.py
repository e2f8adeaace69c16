"""Which bullets go into a prompt."""

from acc_ace.core.playbook.selection import confidence, select_bullets
from acc_ace.core.schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from acc_ace.core.schemas.playbook import Bullet, Playbook
from acc_ace.core.text.tokens import estimate_tokens
from tests.fakes.pinned import pinned


def _playbook(*contents: str) -> Playbook:
    operations = [DeltaOperation(type=DeltaType.ADD, content=content) for content in contents]
    return Playbook().apply_delta(DeltaBatch(operations=operations)).playbook


def _bullet(*, helpful: int = 0, harmful: int = 0, neutral: int = 0) -> Bullet:
    return Bullet(
        id="b-1", section="s", content="c", helpful=helpful, harmful=harmful, neutral=neutral
    )


MIXED = _playbook(
    *[f"General advice number {number} on writing clear answers" for number in range(40)],
    "Restart the checkout service only after its queue is drained",
    "請求書の金額は税込みで伝える",
    *[f"General advice number {number} on reading long documents" for number in range(40)],
)


def test_a_playbook_that_fits_goes_in_whole_whatever_the_text() -> None:
    playbook = _playbook("one", "two", "three")
    tokens = estimate_tokens(playbook.as_prompt())

    assert select_bullets(playbook, "anything", max_tokens=tokens) == playbook.bullets
    assert len(select_bullets(playbook, "anything", max_tokens=tokens - 1)) == 2


def test_relevant_bullets_are_chosen_in_english_and_japanese() -> None:
    english = select_bullets(MIXED, "The checkout services hang, restart them?", max_tokens=200)
    japanese = select_bullets(MIXED, "請求書の金額を教えて", max_tokens=200)

    assert any("checkout" in bullet.content for bullet in english)
    assert any("請求書" in bullet.content for bullet in japanese)


def test_the_output_keeps_the_order_of_the_playbook() -> None:
    chosen = select_bullets(MIXED, "checkout restart advice number 39", max_tokens=300)

    assert [bullet.id for bullet in chosen] == sorted(bullet.id for bullet in chosen)
    assert len(chosen) > 3


def test_headings_count_towards_the_budget() -> None:
    playbook = Playbook()
    for number in range(30):
        playbook = playbook.add_bullet(f"a rather long section name {number}", "x").playbook

    chosen = select_bullets(playbook, "x", max_tokens=100)

    assert 0 < estimate_tokens(playbook.as_prompt(chosen)) <= 100


def test_a_bullet_larger_than_the_budget_does_not_block_smaller_ones() -> None:
    playbook = _playbook("checkout " * 300, "checkout small")

    chosen = select_bullets(playbook, "checkout", max_tokens=60)

    assert [bullet.content for bullet in chosen] == ["checkout small"]


def test_no_budget_means_no_bullet() -> None:
    assert select_bullets(MIXED, "checkout", max_tokens=0) == ()
    assert select_bullets(Playbook(), "checkout", max_tokens=0) == ()


def test_of_equally_relevant_bullets_the_helpful_one_wins_and_the_harmful_one_loses() -> None:
    playbook = _playbook(*["Drain the checkout queue first"] * 3)
    for _ in range(8):
        playbook = playbook.update_bullet_tag("b-00001", "harmful")
        playbook = playbook.update_bullet_tag("b-00003", "helpful")
    one = estimate_tokens(playbook.as_prompt(playbook.bullets[2:]))

    best = select_bullets(playbook, "checkout queue", max_tokens=one)
    two = select_bullets(playbook, "checkout queue", max_tokens=2 * one)

    assert [bullet.id for bullet in best] == ["b-00003"]
    assert [bullet.id for bullet in two] == ["b-00002", "b-00003"]


def test_confidence_orders_proven_new_unproven_and_harmful() -> None:
    proven, new = confidence(_bullet(helpful=20)), confidence(_bullet())
    unproven, harmful = confidence(_bullet(neutral=20)), confidence(_bullet(harmful=20))

    assert 1 >= proven > new > unproven > harmful >= 0


def test_one_lucky_turn_counts_less_than_many_good_ones() -> None:
    assert confidence(_bullet(helpful=1)) < confidence(_bullet(helpful=30, harmful=2))


def test_counters_change_what_is_chosen() -> None:
    playbook = _playbook("Drain the checkout queue", "Empty the checkout queue")
    one = estimate_tokens(playbook.as_prompt(playbook.bullets[:1]))
    tagged = playbook
    for _ in range(3):
        tagged = tagged.update_bullet_tag("b-00002", "helpful")

    before = select_bullets(playbook, "checkout queue", max_tokens=one)
    after = select_bullets(tagged, "checkout queue", max_tokens=one)

    assert [bullet.id for bullet in before] == ["b-00001"]
    assert [bullet.id for bullet in after] == ["b-00002"]


def test_a_new_bullet_is_tried_before_one_that_was_used_to_no_effect() -> None:
    playbook = _playbook("Drain the checkout queue", "Empty the checkout queue")
    for _ in range(5):
        playbook = playbook.update_bullet_tag("b-00001", "neutral")
    one = estimate_tokens(playbook.as_prompt(playbook.bullets[:1]))

    chosen = select_bullets(playbook, "checkout queue", max_tokens=one)

    assert [bullet.id for bullet in chosen] == ["b-00002"]


def test_the_state_finds_bullets_and_x_t_counts_more() -> None:
    playbook = _playbook("Drain the checkout queue", "Explain the invoice total", "Greet the guest")
    one = estimate_tokens(playbook.as_prompt(playbook.bullets[1:2]))

    by_state = select_bullets(playbook, "And now?", state="invoice total", max_tokens=one)
    by_both = select_bullets(playbook, "checkout queue", state="invoice total", max_tokens=one)

    assert [bullet.id for bullet in by_state] == ["b-00002"]
    assert [bullet.id for bullet in by_both] == ["b-00001"]


def test_a_pinned_bullet_is_chosen_whatever_the_text() -> None:
    playbook = pinned(MIXED, "b-00007")

    chosen = select_bullets(playbook, "請求書", max_tokens=60)

    assert "b-00007" in [bullet.id for bullet in chosen]
