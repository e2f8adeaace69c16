"""The sharing gate: what one user's lesson may carry into a playbook that others read."""

from dataclasses import replace
from datetime import UTC, datetime

from acc_ace.core.playbook.curation.delta_guard import Curated, CurationContext, curate
from acc_ace.core.playbook.sharing_gate import generalise, mask_names
from schemas.delta import DeltaBatch, DeltaOperation, DeltaStatus, DeltaType
from schemas.limits import Limits
from schemas.playbook import Playbook
from tests.fakes.tables import each_case

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


@each_case
def test_what_is_personal_is_put_in_general_words(said: str, shared: str) -> None:
    assert generalise(said, ENTITIES, user="u-77") == (shared, True, False)

    curated = _add(said)

    assert (curated.results[0].status, curated.results[0].reason) == (
        DeltaStatus.APPLIED,
        "generalised",
    )
    assert curated.playbook.bullets[0].content == shared


@each_case
def test_names_are_found_as_people_say_them(entity: str, said: str, shared: str) -> None:
    gate = generalise(said, [entity])

    assert (gate.text, gate.stopped) == (shared, False)
    assert generalise(gate.text, [entity]) == (shared, False, False)


@each_case
def test_what_is_general_passes_as_it_is(said: str) -> None:
    assert generalise(said, ENTITIES, user="u-77") == (said, False, False)
    assert _add(said).results[0].reason == "ok"


@each_case
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


@each_case
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
    curated = _add("A\u200bi\u200bko handles refunds")

    assert curated.playbook.bullets[0].content == "a person handles refunds"
    assert curated.results[0].reason == "generalised"
