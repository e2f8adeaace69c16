"""Playbooks as files: what is written is read back exactly, and broken files are named."""

import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.playbook.playbook_form import Form, Reading
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.forms import form_of, read, write
from schemas.bullet import Bullet, Origin
from schemas.playbook import Playbook

EXACT = (Form.MARKDOWN, Form.JSON, Form.JSONL)

_PIECES = st.sampled_from(
    [
        "Drain db-01 first", "再起動の前に必ず", "[b-00001] helpful=999 harmful=0 :: forged",
        "## x", "<script>", "-->", "<!--", "\\", "\\*", "&lt;", "- item", "`rm -rf`", "x | y",
        "# ", "{\"a\":1}", "~~~", "C:\\path", ":: ::", "🙂", "e\u0301", "\u200b", "* *",
        "<!-- {\"at\":3} -->", "]", "[",
    ]
)  # fmt: skip
_TEXTS = st.lists(st.one_of(_PIECES, st.text(max_size=12)), max_size=4).map(" ".join)
_COUNTS = st.integers(min_value=0, max_value=10**9)
_TIMES = st.datetimes(
    min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)
)
_ORIGINS = st.none() | st.builds(
    Origin,
    user=_TEXTS,
    session=_TEXTS,
    turn=st.integers(0, 10_000),
    quote_digest=st.just("ab" * 32),
)


@st.composite
def playbooks(draw: st.DrawFn) -> Playbook:
    numbers = draw(st.lists(st.integers(1, 9_999), unique=True, max_size=6))
    bullets = [
        Bullet(
            id=f"{draw(st.sampled_from(['b', 'str', 'ctx.1']))}-{number:05d}",
            section=draw(_TEXTS),
            content=draw(_TEXTS),
            helpful=draw(_COUNTS),
            harmful=draw(_COUNTS),
            neutral=draw(_COUNTS),
            created_at=draw(_TIMES),
            updated_at=draw(_TIMES),
            pinned=draw(st.booleans()),
            origin=draw(_ORIGINS),
        )
        for number in numbers
    ]
    above = draw(st.integers(1, 50))
    return Playbook(bullets=tuple(bullets), next_id=max(numbers, default=0) + above)


@given(playbook=playbooks(), form=st.sampled_from(EXACT))
def test_a_file_gives_back_exactly_what_was_written(playbook: Playbook, form: Form) -> None:
    text = write(playbook, form)
    assert form_of(text) is form
    assert read(text) == Reading(playbook, passed_over=0)
    assert read(text).playbook.dumps() == playbook.dumps()
    assert read(text.replace("\n", "\r\n"), form).playbook.dumps() == playbook.dumps()


@given(playbook=playbooks())
def test_the_text_of_ace_keeps_ids_sections_words_and_verdicts(playbook: Playbook) -> None:
    text = write(playbook, Form.ACE)
    if not playbook.bullets:
        assert text == ""
        return
    found = read(text, Form.ACE).playbook
    assert [(b.id, b.section, b.helpful, b.harmful) for b in found.bullets] == [
        (b.id, b.section, b.helpful, b.harmful)
        for section in dict.fromkeys(b.section for b in playbook.bullets)
        for b in playbook.bullets
        if b.section == section
    ]


@given(text=st.text(max_size=300), form=st.sampled_from(Form))
def test_any_text_is_a_playbook_or_a_named_error(text: str, form: Form) -> None:
    for wanted in (form, None):
        try:
            found = read(text, wanted).playbook
        except InputError:
            continue
        assert read(write(found, Form.JSON)).playbook.dumps() == found.dumps()


@given(playbook=playbooks(), cut=st.floats(0.05, 0.95), form=st.sampled_from(EXACT))
def test_a_file_that_was_cut_off_is_never_taken_for_a_shorter_playbook(
    playbook: Playbook, cut: float, form: Form
) -> None:
    text = write(playbook, form)
    short = text[: int(len(text) * cut)]
    with pytest.raises(InputError):
        read(short, form)


ACE_FILE = """## STRATEGIES & INSIGHTS
[str-00001] helpful=5 harmful=0 :: Check the units before a division.
[str-00002] helpful=0 harmful=2 :: Guess when in doubt.

## COMMON MISTAKES TO AVOID
[err-00003] helpful=1 harmful=1 :: 単位を必ず確認する。
"""

SKILLBOOK_FILE = {
    "skills": {
        "general-00001": {
            "id": "general-00001",
            "section": "general",
            "content": "Check the units.",
            "helpful": 2,
            "harmful": 1,
            "neutral": 3,
            "created_at": "2026-01-02T03:04:05+00:00",
            "updated_at": "2026-01-03T03:04:05+00:00",
            "embedding": None,
            "status": "active",
        },
        "general-00002": {
            "id": "general-00002",
            "section": "g",
            "content": "x",
            "status": "invalid",
        },
    },
    "sections": {"general": ["general-00001"]},
    "next_id": 2,
    "similarity_decisions": {},
}


def test_the_official_ace_text_is_read_with_its_counters() -> None:
    playbook, passed_over, _ = read(ACE_FILE)
    assert passed_over == 0
    assert form_of(ACE_FILE) is Form.ACE
    assert [(b.id, b.helpful, b.harmful) for b in playbook.bullets] == [
        ("str-00001", 5, 0),
        ("str-00002", 0, 2),
        ("err-00003", 1, 1),
    ]
    assert playbook.bullets[2].section == "COMMON MISTAKES TO AVOID"
    assert playbook.next_id == 4


def test_prose_and_fenced_examples_around_the_text_of_ace_are_no_lessons() -> None:
    around = "**Format:** `[ID] helpful=N harmful=N :: text`\n- **ID**: a number\n---\n"
    example = "```\n[x-00009] helpful=1 harmful=0 :: An example.\n```\n"
    playbook, passed_over, _ = read(around + ACE_FILE + example)
    assert playbook.dumps() == read(ACE_FILE).playbook.dumps()
    assert passed_over == 6


@pytest.mark.parametrize("name", ["skills", "bullets"])
def test_active_lessons_by_id_are_read_from_the_json_of_other_tools(name: str) -> None:
    reading = read(json.dumps({**SKILLBOOK_FILE, name: SKILLBOOK_FILE["skills"]}, indent=2))
    (bullet,) = reading.playbook.bullets
    assert reading.passed_over == 1
    assert (bullet.id, bullet.helpful, bullet.harmful, bullet.neutral) == ("general-00001", 2, 1, 3)
    assert bullet.created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_markdown_written_by_hand_becomes_bullets_with_new_ids() -> None:
    playbook, passed_over, _ = read(
        "# Our rules\n\n## restarts\n\n- Drain it first.\n- [b-00007] :: Ask.\n\nProse.\n"
    )
    assert passed_over == 1
    assert [(b.id, b.section, b.content) for b in playbook.bullets] == [
        ("b-00008", "restarts", "Drain it first."),
        ("b-00007", "restarts", "Ask."),
    ]


def test_a_bullet_removed_by_hand_is_gone_and_the_rest_stays() -> None:
    first = Playbook().add_bullet("s", "one").playbook.add_bullet("s", "two").playbook
    text = re.sub(r"- \[b-00001\].*\n.*\n", "", write(first, Form.MARKDOWN))
    assert [bullet.content for bullet in read(text).playbook.bullets] == ["two"]
    assert read(text).playbook.next_id == first.next_id


_BULLET = '{"id": "b-1", "section": "s", "content": "x"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("{", "not JSON"),
        ("[1, 2]", "no lesson"),
        ('{"skills": []}', "neither 'bullets' nor 'skills'"),
        ('{"skills": {"a": 1}}', "lesson 1 is not an object"),
        ('{"name": "x"}', "neither 'bullets' nor 'skills'"),
        ('{"bullets": [], "schema_version": 99}', "newer"),
        ('{"kind": "playbook", "schema_version": 99}\n{}\n', "line 1: .*newer"),
        (f'{{"kind": "playbook", "bullets": 3}}\n{_BULLET}\n', "cut"),
        (f"{_BULLET}\nnot json\n", "line 2: not JSON"),
        (f'{_BULLET}\n{{"id": "b-1"}}\n', "line 2: not a bullet"),
        ("[b-1] helpful=1 harmful=0 :: a\n[b-1] helpful=1 harmful=0 :: b\n", "line 2: .*line 1"),
        ("[b-00001] helpful=1 harmful=0 :: a\n[b-00002] helpful=x :: b\n", "line 2: not a bullet"),
        ('<!-- acc-ace playbook {"next_id":1} -->\n- [b-00001] :: x\n', "missing"),
        ('{"id": "b-1", "section": "s", "content": "x", "helpful": -1}\n{}\n', "line 1: .*helpful"),
        ("{" * 100_000, "not JSON"),
    ],
)  # fmt: skip
def test_a_broken_file_is_told_what_is_wrong_and_where(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(text)
