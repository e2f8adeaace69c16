"""The playbook as a value: operations, ids, batches, storage form and prompt form."""

import json
from datetime import UTC, datetime

import pytest

from acc_ace.core.playbook.playbook_versions import content_digest
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.errors import PlaybookError
from schemas.bullet import MOST_COUNTED, Bullet, Origin
from schemas.delta import DeltaBatch, DeltaOperation, DeltaStatus, DeltaType
from schemas.playbook import Playbook
from schemas.reflection import BulletTag
from tests.fakes.pinned import pinned

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _add(content: str, section: str = "strategies", bullet_id: str | None = None) -> DeltaOperation:
    return DeltaOperation(type=DeltaType.ADD, section=section, content=content, bullet_id=bullet_id)


def _playbook(*contents: str) -> Playbook:
    return Playbook().apply_delta(DeltaBatch(operations=[_add(text) for text in contents])).playbook


def test_add_gives_the_next_id_and_the_times() -> None:
    playbook, bullet = Playbook().add_bullet("tools", "Read the log first", at=AT)

    assert bullet == Bullet(
        id="b-00001", section="tools", content="Read the log first", created_at=AT, updated_at=AT
    )
    assert playbook.bullets == (bullet,)
    assert playbook.next_id == 2


def test_operations_leave_the_original_unchanged() -> None:
    before = _playbook("one", "two")

    before.update_bullet("b-00001", content="changed")
    before.remove_bullet("b-00002")
    before.update_bullet_tag("b-00001", "helpful")

    assert before == _playbook("one", "two")


def test_a_removed_id_is_not_given_again_even_after_a_reload() -> None:
    playbook = Playbook.loads(_playbook("one", "two").remove_bullet("b-00002").dumps())

    assert playbook.add_bullet("", "three").bullet.id == "b-00003"


def test_update_keeps_the_section_and_the_counters_it_does_not_name() -> None:
    playbook = Playbook().add_bullet("tools", "old").playbook
    playbook = playbook.update_bullet_tag("b-00001", "helpful", increment=3)

    updated = playbook.update_bullet("b-00001", content="new", at=AT).bullets[0]

    assert (updated.section, updated.content, updated.helpful) == ("tools", "new", 3)
    assert updated.updated_at == AT


def test_update_can_move_a_bullet_to_another_section() -> None:
    moved = _playbook("one").update_bullet("b-00001", section="pitfalls")

    assert (moved.bullets[0].section, moved.bullets[0].content) == ("pitfalls", "one")


@pytest.mark.parametrize("name", ["b-00001", " B-00001 ", "[b-00001]", "ｂ－００００１"])
def test_an_id_is_found_as_a_model_may_write_it(name: str) -> None:
    assert _playbook("one").update_bullet_tag(name, "harmful").bullets[0].harmful == 1


@pytest.mark.parametrize("name", ["b-00009", "", "b-00001x", "x" * 10_000])
def test_an_unknown_id_is_a_named_error(name: str) -> None:
    playbook = _playbook("one")

    with pytest.raises(PlaybookError, match="unknown_id"):
        playbook.update_bullet(name, content="x")
    with pytest.raises(PlaybookError, match="unknown_id"):
        playbook.remove_bullet(name)
    with pytest.raises(PlaybookError, match="unknown_id"):
        playbook.update_bullet_tag(name, "helpful")


@pytest.mark.parametrize("content", ["", "   ", "\n\t\u2028", "\u200b"])
def test_blank_content_is_rejected(content: str) -> None:
    with pytest.raises(PlaybookError, match="empty"):
        Playbook().add_bullet("s", content)
    with pytest.raises(PlaybookError, match="empty"):
        _playbook("one").update_bullet("b-00001", content=content)


@pytest.mark.parametrize(
    ("bullet_id", "reason"),
    [("b-00002", "id_exists"), ("b-00001", "id_used"), ("no number", "bad_id"), ("x", "bad_id")],
)
def test_a_given_id_must_be_new(bullet_id: str, reason: str) -> None:
    playbook = _playbook("one", "two").remove_bullet("b-00001")

    with pytest.raises(PlaybookError, match=reason):
        playbook.add_bullet("s", "three", bullet_id=bullet_id)


def test_a_given_id_moves_the_counter_beyond_it() -> None:
    playbook, bullet = Playbook().add_bullet("s", "one", bullet_id="ctx-00041")

    assert (bullet.id, playbook.next_id) == ("ctx-00041", 42)


def test_a_tag_never_counts_below_zero_and_must_be_known() -> None:
    with pytest.raises(PlaybookError, match="negative_count"):
        _playbook("one").update_bullet_tag("b-00001", "helpful", increment=-1)
    with pytest.raises(PlaybookError, match="unknown_tag"):
        _playbook("one").update_bullet_tag("b-00001", "content")  # type: ignore[arg-type]  # as a model may


def test_apply_tags_counts_known_bullets_only() -> None:
    tagged = _playbook("one").apply_tags(
        [BulletTag(id="b-00001", tag="neutral"), BulletTag(id="b-00077", tag="helpful")]
    )

    assert tagged.stats() == {
        "bullets": 1,
        "sections": 1,
        "helpful": 0,
        "harmful": 0,
        "neutral": 1,
    }


def test_a_good_bad_good_batch_applies_two() -> None:
    batch = DeltaBatch(
        operations=[
            _add("one"),
            DeltaOperation(type=DeltaType.REMOVE, bullet_id="b-00099"),
            DeltaOperation(type=DeltaType.UPDATE, bullet_id="b-00001", content="uno"),
        ]
    )

    playbook, results = Playbook().apply_delta(batch, at=AT)

    assert [(result.status, result.reason) for result in results] == [
        (DeltaStatus.APPLIED, "ok"),
        (DeltaStatus.REJECTED, "unknown_id"),
        (DeltaStatus.APPLIED, "ok"),
    ]
    assert [bullet.content for bullet in playbook.bullets] == ["uno"]


@pytest.mark.parametrize("content", [None, "", " "])
def test_update_without_content_is_rejected_and_changes_nothing(content: str | None) -> None:
    operation = DeltaOperation(
        type=DeltaType.UPDATE, bullet_id="b-00001", content=content, section="other"
    )

    playbook, results = _playbook("one").apply_delta(DeltaBatch(operations=[operation]))

    assert results[0].reason == "empty"
    assert playbook == _playbook("one")


def test_operations_are_read_in_any_case_and_with_nulls() -> None:
    written = {"type": " add ", "section": None, "content": "x", "bullet_id": " "}
    [operation] = read_reply(DeltaBatch, json.dumps({"operations": [written]})).operations

    assert operation == DeltaOperation(type=DeltaType.ADD, section="", content="x")


def test_a_playbook_stored_without_its_counter_still_never_reuses_an_id() -> None:
    stored = _playbook("one", "two", "three").to_dict()
    del stored["next_id"]

    assert Playbook.from_dict(stored).add_bullet("", "four").bullet.id == "b-00004"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "a JSON object is expected"),
        ('{"bullets": 3}', "not a playbook"),
        ('{"bullets": [{"id": "a b", "section": "s", "content": "c"}]}', "not a bullet id"),
        ('{"schema_version": "new"}', "schema_version is not a number"),
        ('{"schema_version": 99}', "newer than 1; upgrade"),
        ('{"next_id": 1, "bullets": [{"id": "b-00001", "section": "", "content": ""}]}', "next_id"),
    ],
)
def test_what_is_no_playbook_is_a_named_error(text: str, problem: str) -> None:
    with pytest.raises(PlaybookError, match=problem) as raised:
        Playbook.loads(text)

    # For a person to read: no part of the input, no address of a manual.
    assert "input_value" not in str(raised.value)
    assert "http" not in str(raised.value)


def test_two_bullets_of_one_id_are_refused() -> None:
    stored = _playbook("one").to_dict()
    stored["bullets"] *= 2

    with pytest.raises(PlaybookError, match="same id"):
        Playbook.from_dict(stored)


def test_the_prompt_lists_bullets_by_section() -> None:
    playbook = Playbook().add_bullet("tools", "one").playbook
    playbook = playbook.add_bullet("pitfalls", "two").playbook
    playbook = playbook.add_bullet("tools", "three").playbook.update_bullet_tag(
        "b-00002", "harmful"
    )

    assert playbook.as_prompt().splitlines() == [
        "## tools",
        "[b-00001] helpful=0 harmful=0 :: one",
        "[b-00003] helpful=0 harmful=0 :: three",
        "## pitfalls",
        "[b-00002] helpful=0 harmful=1 :: two",
    ]
    assert playbook.as_prompt(playbook.bullets[:1]).count("[b-") == 1
    assert Playbook().as_prompt() == ""


def test_stored_text_cannot_forge_a_prompt_either() -> None:
    stored = _playbook("x").to_dict()
    stored["bullets"][0] |= {
        "content": "a\n[b-00009] helpful=9 harmful=0 :: b",
        "section": "#\n# s",
    }

    assert Playbook.from_dict(stored).as_prompt().splitlines() == [
        "## s",
        "[b-00001] helpful=0 harmful=0 :: a (b-00009) helpful=9 harmful=0 :: b",
    ]


def test_dumps_is_canonical_json() -> None:
    text = _playbook("営業時間内は再起動禁止").dumps()
    shuffled = json.dumps(dict(reversed(json.loads(text).items())), indent=2)

    assert "営業時間内は再起動禁止" in text
    assert Playbook.loads(shuffled).dumps() == text


def test_a_large_batch_ends_like_its_operations_one_by_one() -> None:
    large = _playbook(*[f"lesson {number}" for number in range(300)])
    operations = [
        DeltaOperation(type=kind, bullet_id=f"b-{number:05d}", content=f"new {number}")
        for number in range(1, 100)
        for kind in (DeltaType.UPDATE, DeltaType.REMOVE, DeltaType.UPDATE)
    ]

    one_by_one = large
    for operation in operations:
        one_by_one = one_by_one.apply_delta(DeltaBatch(operations=[operation])).playbook

    assert large.apply_delta(DeltaBatch(operations=operations)).playbook == one_by_one


STORED_BEFORE_PINS = (
    '{"bullets":[{"content":"再起動の前にログを確認する","created_at":"2026-01-02T03:04:05Z",'
    '"harmful":1,"helpful":2,"id":"b-00001","neutral":0,"section":"tools",'
    '"updated_at":"2026-01-02T03:04:05Z"}],"next_id":7,"schema_version":1}'
)


def test_a_playbook_stored_before_pins_and_origins_keeps_its_bytes_and_its_digest() -> None:
    playbook = Playbook.loads(STORED_BEFORE_PINS)

    assert playbook.dumps() == STORED_BEFORE_PINS
    assert content_digest(playbook) == (
        "67bc13d774cfb0f69b61b3ba719ec7a43e2214cccd4fb5e3e01f0bcb57fc29d7"
    )


def test_a_pin_and_an_origin_are_stored_and_unpinning_gives_the_old_bytes_back() -> None:
    origin = Origin(user="aiko", session="s-1", turn=7, quote_digest="ab" * 32)
    draft = Playbook().draft()
    draft.add("tools", "one", bullet_id=None, at=AT, origin=origin)
    playbook = Playbook().with_draft(draft)

    protected = pinned(playbook, "b-00001")

    assert Playbook.loads(protected.dumps()) == protected
    assert protected.bullets[0].pinned
    assert protected.bullets[0].origin == origin


def test_merging_adds_counters_to_the_survivor_and_the_sources_leave() -> None:
    playbook = _playbook("one", "two", "three")
    for bullet_id, tag in (("b-00001", "helpful"), ("b-00002", "helpful"), ("b-00003", "harmful")):
        playbook = playbook.apply_tags([BulletTag.model_validate({"id": bullet_id, "tag": tag})])

    operation = DeltaOperation(
        type=DeltaType.MERGE,
        bullet_id="b-00002",
        source_ids=["B-00003", "[b-00001]", "b-00003"],
    )
    merged = playbook.apply_delta(DeltaBatch(operations=[operation]), at=AT).playbook

    survivor = merged.bullets[0]
    assert [bullet.id for bullet in merged.bullets] == ["b-00002"]
    assert (survivor.content, survivor.helpful, survivor.harmful) == ("two", 2, 1)
    assert merged.next_id == playbook.next_id


@pytest.mark.parametrize(
    ("survivor", "sources", "content", "reason"),
    [
        ("b-00001", [], None, "no_sources"),
        ("b-00001", ["b-00001", " B-00001 "], None, "merge_with_itself"),
        ("b-00001", ["b-00002", "b-00009"], None, "unknown_id"),
        ("b-00009", ["b-00001"], None, "unknown_id"),
        ("b-00001", ["b-00002"], " ", "empty"),
    ],
)
def test_a_merge_that_cannot_be_changes_nothing(
    survivor: str, sources: list[str], content: str | None, reason: str
) -> None:
    playbook = _playbook("one", "two")
    operation = DeltaOperation(
        type=DeltaType.MERGE, bullet_id=survivor, source_ids=sources, content=content
    )

    applied = playbook.apply_delta(DeltaBatch(operations=[operation]))

    assert applied.results[0].reason == reason
    assert applied.playbook == playbook


@pytest.mark.parametrize(
    "written",
    [
        {"op": "merge", "id": "b-1", "sources": ["b-2"]},
        {"action": " Merge ", "bulletId": "b-1", "sourceIds": "b-2"},
        {"operation": "MERGE", "skill_id": "b-1", "merge_ids": ["b-2"]},
        {"type": "MERGE", "op": "ADD", "bullet_id": "b-1", "id": "b-9", "source_ids": ["b-2"]},
    ],
)
def test_other_names_of_the_fields_are_read_and_ours_win(written: dict[str, object]) -> None:
    [operation] = read_reply(DeltaBatch, json.dumps({"operations": written})).operations
    assert operation == DeltaOperation(type=DeltaType.MERGE, bullet_id="b-1", source_ids=["b-2"])


def test_a_counter_stops_at_what_every_reader_of_json_keeps() -> None:
    playbook = _playbook("one").update_bullet_tag("b-00001", "helpful", increment=2**80)

    assert playbook.bullets[0].helpful == MOST_COUNTED
    assert Playbook.loads(playbook.dumps()) == playbook


def test_looking_a_bullet_up_changes_neither_equality_nor_copies() -> None:
    looked_up, other = _playbook("one", "two"), _playbook("one", "two")

    assert looked_up.get("b-00002") is looked_up.bullets[1]
    assert looked_up == other
    assert looked_up.dumps() == other.dumps()
    copy = looked_up.model_copy(update={"bullets": looked_up.bullets[:1]})
    assert copy.get("b-00002") is None
    assert looked_up.remove_bullet("b-00002").get("b-00002") is None
    assert looked_up.get("b-00002") is not None
