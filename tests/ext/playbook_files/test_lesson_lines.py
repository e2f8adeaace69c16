"""Playbooks that other tools and people wrote come in whole; what is no playbook does not."""

import json

import pytest

from acc_ace.core.playbook.playbook_form import Form
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.forms import read

Row = tuple[str, str, int, int]

SEVERAL_LINES = """## JOINS
[str-00001] helpful=4 harmful=0 :: Before two tables are joined:
1. count the rows of both
2. look for keys that repeat

[str-00002] helpful=2 harmful=1 :: Write dates like this:
```
2026-11-30
```
[str-00003] helpful=0 harmful=0 ::
    Say the unit.
    And the zone.
"""
KAYBA = """# ACE Skillbook

## billing

### `billing-00004`

Ask for the invoice number first

**Justification:** Two of three calls went faster.

*Tags: helpful=3, harmful=1, neutral=2*

### `billing-00005`

**Keywords:** refunds

**Issue:** Refunds went to a closed account.

**Insight:** Read the status of the account before a refund.

*Tags: helpful=1, harmful=0, neutral=0*
"""
REPORT = """# What we did in May

All went well, but for the fair.

- The booth was late.
- [EVT-2031] The banner has the old logo.
- [x] Thank the guests
- [photos](photos.html)
"""


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            SEVERAL_LINES,
            [
                (
                    "str-00001",
                    "Before two tables are joined: 1. count the rows of both "
                    "2. look for keys that repeat",
                    4,
                    0,
                ),
                ("str-00002", "Write dates like this: 2026-11-30", 2, 1),
                ("str-00003", "Say the unit. And the zone.", 0, 0),
            ],
        ),
        (
            KAYBA,
            [
                ("billing-00004", "Ask for the invoice number first", 3, 1),
                (
                    "billing-00005",
                    "Refunds went to a closed account — "
                    "Read the status of the account before a refund",
                    1,
                    0,
                ),
            ],
        ),
        (
            "# Ours\n- [ops-001] Ring twice\n- **[ops-002]** Wait (helpful=2, harmful=1)\n",
            [("ops-001", "Ring twice", 0, 0), ("ops-002", "Wait", 2, 1)],
        ),
        (
            "[a-1] :: One.\n\nNot this.\n\n[a-2] helpful: 3, harmful: 0 :: Two.\n",
            [("a-1", "One.", 0, 0), ("a-2", "Two.", 3, 0)],
        ),
    ],
    ids=["several lines", "kayba's export", "no counters", "no list"],
)
def test_each_lesson_comes_in_with_its_counters(text: str, rows: list[Row]) -> None:
    bullets = read(text).playbook.bullets
    assert [(b.id, b.content, b.helpful, b.harmful) for b in bullets] == rows


def test_what_is_no_lesson_is_named_with_its_line_and_the_reason() -> None:
    assert read(KAYBA).left_out == (
        "line 9: not the lesson: '**Justification:** Two of three calls went faster.'",
        "line 15: not the lesson: '**Keywords:** refunds'",
    )


def test_a_report_with_lists_is_a_playbook_only_if_somebody_says_so() -> None:
    with pytest.raises(InputError, match=r"4 items .* '--format markdown --dry-run' shows"):
        read(REPORT)
    assert len(read(REPORT, Form.MARKDOWN).playbook.bullets) == 4
    with pytest.raises(InputError, match="no lessons"):
        read(f"{REPORT}\n```\n[a-1] helpful=1 harmful=0 :: An example.\n```\n")


@pytest.mark.parametrize(
    "lesson",
    [
        {"issue": "Late.", "insight": "Leave at six.", "helpful_count": 2},
        {"text": "Late — Leave at six.", "helpful": 2, "topic": "trips"},
    ],
)
def test_json_of_other_tools_is_read_under_their_names(lesson: dict[str, object]) -> None:
    for lessons in ({"t-1": lesson}, [lesson]):
        (bullet,) = read(json.dumps({"skills": lessons})).playbook.bullets
        assert (bullet.content, bullet.helpful) == ("Late — Leave at six.", 2)
