"""What counters, pins and budgets do to the choice of bullets, for any playbook."""

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.playbook.selection import confidence, select_bullets
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.tokens import estimate_tokens
from tests.fakes.pinned import pinned

WORDS = ("checkout", "queue", "drain", "restart", "log", "invoice", "請求書", "税込み", "再起動")
counts = st.integers(0, 400)
contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
sections = st.sampled_from(("strategies", "mistakes", "tools"))


def _playbooks(*, min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[Playbook]:
    rows = st.lists(
        st.tuples(contents, sections, counts, counts, counts, st.booleans()),
        min_size=min_size,
        max_size=max_size,
    )
    return rows.map(_playbook)


def _playbook(rows: list[tuple[str, str, int, int, int, bool]]) -> Playbook:
    bullets = tuple(
        Bullet(
            id=f"b-{number:05d}",
            section=section,
            content=content,
            helpful=helpful,
            harmful=harmful,
            neutral=neutral,
            pinned=pinned,
        )
        for number, (content, section, helpful, harmful, neutral, pinned) in enumerate(rows, 1)
    )
    return Playbook(bullets=bullets, next_id=len(bullets) + 1)


def _with(playbook: Playbook, position: int, **changes: object) -> Playbook:
    bullets = list(playbook.bullets)
    bullets[position] = bullets[position].model_copy(update=changes)
    return playbook.model_copy(update={"bullets": tuple(bullets)})


@given(_playbooks(), st.data(), contents, st.integers(0, 300), st.integers(1, 50))
def test_more_helpful_never_costs_a_bullet_its_place(
    playbook: Playbook, data: st.DataObject, text: str, budget: int, more: int
) -> None:
    at = data.draw(st.integers(0, len(playbook.bullets) - 1))
    bullet = playbook.bullets[at]
    better = _with(playbook, at, helpful=bullet.helpful + more)

    before = {chosen.id for chosen in select_bullets(playbook, text, max_tokens=budget)}
    after = {chosen.id for chosen in select_bullets(better, text, max_tokens=budget)}

    assert bullet.id not in before or bullet.id in after


@given(_playbooks(), st.data(), contents, st.integers(0, 300), st.integers(1, 50))
def test_more_harmful_never_wins_a_bullet_a_place(
    playbook: Playbook, data: st.DataObject, text: str, budget: int, more: int
) -> None:
    at = data.draw(st.integers(0, len(playbook.bullets) - 1))
    bullet = playbook.bullets[at]
    worse = _with(playbook, at, harmful=bullet.harmful + more)

    before = {chosen.id for chosen in select_bullets(playbook, text, max_tokens=budget)}
    after = {chosen.id for chosen in select_bullets(worse, text, max_tokens=budget)}

    assert bullet.id in before or bullet.id not in after


@given(st.integers(0, 20_000), st.integers(0, 20_000), st.integers(0, 20_000))
def test_confidence_rises_with_help_and_falls_with_harm(
    helpful: int, harmful: int, neutral: int
) -> None:
    def held(more_helpful: int, more_harmful: int) -> float:
        return confidence(
            Bullet(
                id="b-1",
                section="s",
                content="c",
                helpful=helpful + more_helpful,
                harmful=harmful + more_harmful,
                neutral=neutral,
            )
        )

    assert 0 <= held(0, 1) <= held(0, 0) + 1e-12 <= held(1, 0) + 2e-12 <= 1 + 3e-12


@given(_playbooks(), contents, st.integers(0, 300))
def test_a_pinned_bullet_that_fits_alone_goes_before_all_that_are_not_pinned(
    playbook: Playbook, text: str, budget: int
) -> None:
    chosen = select_bullets(playbook, text, max_tokens=budget)
    pinned = tuple(bullet for bullet in playbook.bullets if bullet.pinned)

    if pinned and estimate_tokens(playbook.as_prompt(pinned)) <= budget:
        assert {bullet.id for bullet in pinned} <= {bullet.id for bullet in chosen}


@given(_playbooks(min_size=3), contents, contents, st.integers(0, 300))
def test_a_choice_keeps_its_budget_with_a_state_too(
    playbook: Playbook, text: str, state: str, budget: int
) -> None:
    chosen = select_bullets(playbook, text, state=state, max_tokens=budget)

    assert estimate_tokens(playbook.as_prompt(chosen)) <= budget
    assert chosen == tuple(bullet for bullet in playbook.bullets if bullet in chosen)


def _large(seed: int) -> Playbook:
    rows = [
        (
            f"{WORDS[n % 9]} {WORDS[(n * seed) % 9]} item {n % 37}",
            f"s{n % 5}",
            n % 7,
            n % 3,
            0,
            False,
        )
        for n in range(400)
    ]
    return _playbook(rows)


edits = st.lists(
    st.tuples(st.sampled_from(("tag", "edit", "add", "remove", "pin")), st.integers(0, 10**6)),
    min_size=1,
    max_size=8,
)


@given(st.integers(2, 8), edits, contents)
def test_an_index_that_followed_a_playbook_chooses_as_one_made_anew(
    seed: int, changes: list[tuple[str, int]], text: str
) -> None:
    playbook = _large(seed)
    for kind, number in changes:
        select_bullets(playbook, text, max_tokens=200)
        playbook = _changed(playbook, kind, number)

    followed = select_bullets(playbook, text, max_tokens=200)
    # Equal bullets that are other objects have no index yet.
    copied = Playbook(
        bullets=tuple(bullet.model_copy() for bullet in playbook.bullets), next_id=playbook.next_id
    )
    anew = select_bullets(copied, text, max_tokens=200)

    assert followed == anew
    assert followed


def _changed(playbook: Playbook, kind: str, number: int) -> Playbook:
    bullet = playbook.bullets[number % len(playbook.bullets)]
    match kind:
        case "tag":
            return playbook.update_bullet_tag(bullet.id, "helpful", increment=number % 5)
        case "edit":
            return playbook.update_bullet(bullet.id, content=f"{WORDS[number % 9]} anew {number}")
        case "add":
            return playbook.add_bullet("s1", f"{WORDS[number % 9]} added {number}").playbook
        case "remove":
            return playbook.remove_bullet(bullet.id)
        case _:
            return pinned(playbook, bullet.id)
