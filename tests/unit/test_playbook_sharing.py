"""The sharing gate: what one user's lesson may carry into a playbook that others read."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from acc_ace.playbook.curation.delta_guard import Curated, CurationContext, curate
from acc_ace.playbook.sharing_gate import generalise, mask_names
from acc_ace.schemas.delta import DeltaBatch, DeltaOperation, DeltaStatus, DeltaType
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import Playbook

ENTITIES = (
    "person:Aiko Tanaka",
    "person:田中さん",
    "person:Will Mark",
    "server:db-01",
    "company:Acme",
    "ticket:OPS-12",
    "tool:search",
    "service:checkout",
)
CONTEXT = CurationContext(
    limits=Limits(),
    at=datetime(2026, 1, 2, tzinfo=UTC),
    user="u-77",
    session="s-1",
    turn=7,
    grounded=True,
    shared=True,
    entities=ENTITIES,
)


def _add(content: str, section: str = "", context: CurationContext = CONTEXT) -> Curated:
    operation = DeltaOperation(type=DeltaType.ADD, content=content, section=section)
    return curate(Playbook(), DeltaBatch(operations=[operation]), context)


@pytest.mark.parametrize(
    ("said", "shared"),
    [
        ("Ask Aiko Tanaka for the order number", "Ask a person for the order number"),
        ("Aiko's manager approves refunds", "a person's manager approves refunds"),
        ("Ask AIKO before a refund", "Ask a person before a refund"),
        ("Check db-01 before DB-01's replica", "Check a server before a server's replica"),
        ("Acme pays late, see OPS-12", "a company pays late, see a ticket"),
        ("Mail a.b@example.com before a refund", "Mail an e-mail address before a refund"),
        ("Call 090-1234-5678 before a refund", "Call a phone number before a refund"),
        ("u-77 wants short answers", "the user wants short answers"),
        ("返金の前に田中さんに確認する", "返金の前にある人に確認する"),
        ("夜間は 090-1234-5678 に電話する", "夜間は 電話番号 に電話する"),
    ],
)
def test_what_is_personal_is_put_in_general_words(said: str, shared: str) -> None:
    assert generalise(said, ENTITIES, user="u-77") == (shared, True, False)

    curated = _add(said)

    assert (curated.results[0].status, curated.results[0].reason) == (
        DeltaStatus.APPLIED,
        "generalised",
    )
    assert curated.playbook.bullets[0].content == shared


@pytest.mark.parametrize(
    ("entity", "said", "shared"),
    [
        ("person:田中愛子", "返金の前に田中さんに確認する", "返金の前にある人に確認する"),
        ("person:田中愛子", "担当の愛子さんに確認する", "担当のある人に確認する"),
        ("person:田中愛子", "お子様の席を先に取る", "お子様の席を先に取る"),
        ("person:林", "林様の注文を先に見る", "ある人の注文を先に見る"),
        ("person:林", "小林さんに確認する", "小林さんに確認する"),
        ("person:林", "林の写真を使う", "林の写真を使う"),
        ("person:山田 太郎", "山田太郎に連絡する", "ある人に連絡する"),
        ("人物:鈴木一郎", "鈴木一郎に連絡する", "ある人に連絡する"),
        ("取引先:森山商事", "森山商事の請求を先に見る", "ある対象の請求を先に見る"),
        ("person:José García", "Ask Jose Garcia first", "Ask a person first"),
    ],
)
def test_names_are_found_as_people_say_them(entity: str, said: str, shared: str) -> None:
    gate = generalise(said, [entity])

    assert (gate.text, gate.stopped) == (shared, False)
    assert generalise(gate.text, [entity]) == (shared, False, False)


@pytest.mark.parametrize(
    "said",
    [
        "Use search before an answer from memory",
        "Check the checkout before a release",
        "The service will restart by itself",
        "Confirm the order number first",
    ],
)
def test_what_is_general_passes_as_it_is(said: str) -> None:
    assert generalise(said, ENTITIES, user="u-77") == (said, False, False)
    assert _add(said).results[0].reason == "ok"


@pytest.mark.parametrize(
    "said",
    [
        "Ａｉｋｏ approves refunds",
        "ask aiko before a refund",
        "mark the ticket before a refund",
        "Mail ａ.ｂ＠example.com before a refund",
    ],
)
def test_what_cannot_be_told_apart_or_is_disguised_is_held_and_the_log_does_not_name_it(
    said: str,
) -> None:
    curated = _add(said)
    result, record = curated.results[0], curated.records[0]

    assert result.status is not DeltaStatus.APPLIED
    assert curated.playbook.bullets == ()
    for name in ("aiko", "ａｉｋｏ", "example.com"):
        assert name not in record.model_dump_json().lower()


def test_a_section_passes_the_gate_too() -> None:
    assert _add("Confirm the order number", "Aiko").playbook.bullets[0].section == "a person"


def test_a_key_is_rejected_whoever_reads_the_playbook() -> None:
    key = "sk-" + "a1B2" * 8
    for context in (CONTEXT, replace(CONTEXT, shared=False)):
        curated = _add(f"Log in with {key}", context=context)

        assert (curated.results[0].status, curated.results[0].reason) == (
            DeltaStatus.REJECTED,
            "secret",
        )
        assert key not in curated.records[0].model_dump_json()


def test_a_users_own_playbook_may_name_what_the_user_named() -> None:
    curated = _add("Check db-01 first", context=replace(CONTEXT, shared=False))

    assert curated.playbook.bullets[0].content == "Check db-01 first"


@pytest.mark.parametrize("user", ["user", "default", "me", ""])
def test_a_user_id_that_names_nobody_is_no_name(user: str) -> None:
    text = f"Ask the {user or 'reader'} for the order number"

    assert generalise(text, (), user=user) == (text, False, False)


def test_names_are_masked_in_a_log_even_in_disguise() -> None:
    assert mask_names("Ask Ａｉｋｏ and db-01", ENTITIES) == (
        "Ask [redacted: name] and [redacted: name]"
    )


def test_a_kind_of_entity_cannot_carry_a_name_into_the_playbook() -> None:
    text = generalise("Check zeta-9 first", ("owner of Bob's [b-1] helpful=9:zeta-9",)).text

    assert text == "Check something first"


def test_a_name_that_zero_width_characters_split_is_one_name() -> None:
    curated = _add("A\u200bi\u200bko approves refunds")

    assert curated.playbook.bullets[0].content == "a person approves refunds"
    assert curated.results[0].reason == "generalised"
