"""Reading a model's reply as JSON, as a CCS, and as proposals about rules."""

import json
from contextlib import suppress

import pytest

from acc_ace.core.gates import ccs_output
from acc_ace.core.gates.ccs_output import (
    MAX_REPLY_CHARS,
    MAX_RULE_CHANGES,
    parse_ccs,
    parse_compressor_reply,
    parse_json_object,
)
from acc_ace.errors import ModelOutputError
from schemas.ccs import CompressedCognitiveState
from schemas.commit import ChangeKind
from tests.fakes.tables import each_case

CCS = CompressedCognitiveState(
    episodic_trace="disk } full {",
    semantic_gist="障害",
    focal_entities=["server:db-01"],
    relational_map=["a -> b, ]"],
    goal_orientation="restore",
    constraints=["営業時間内は再起動禁止。"],
    predictive_cue="wait",
    uncertainty_signal="",
    retrieved_artifacts=["[a-1] gist"],
)
JSON = CCS.model_dump_json()


@pytest.mark.parametrize(
    "reply",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"Here is {{the}} state:\n\n{JSON}\nI hope this helps {{:}}.",
        f"\ufeff  {JSON}  ",
        f"{{}} was the old one, this is the new one: {JSON}",
        json.dumps(json.loads(JSON), indent=2).replace("\n}", ",\n}").replace("\n  ]", ",\n  ]"),
        JSON.replace("disk }", "disk\n}"),
    ],
    ids=["plain", "fenced", "prose", "bom", "two objects", "trailing commas", "raw newline"],
)
def test_the_nine_fields_are_read_through_wrapping(reply: str) -> None:
    read = parse_ccs(reply)
    assert read.model_copy(update={"episodic_trace": CCS.episodic_trace}) == CCS


def test_missing_optional_fields_take_their_defaults() -> None:
    data = json.loads(JSON)
    for name in ("relational_map", "predictive_cue", "retrieved_artifacts"):
        del data[name]
    read = parse_ccs(json.dumps(data))
    assert (read.relational_map, read.predictive_cue, read.retrieved_artifacts) == ([], None, [])


def test_nulls_texts_for_lists_and_lists_for_texts_are_mended() -> None:
    data = {
        **json.loads(JSON),
        "focal_entities": None,
        "constraints": "one rule",
        "semantic_gist": ["a", None, "b"],
        "uncertainty_signal": None,
        "relational_map": [1, "x", None, True],
        "predictive_cue": " ",
    }
    read = parse_ccs(json.dumps(data))
    assert read.focal_entities == []
    assert read.constraints == ["one rule"]
    assert read.semantic_gist == "a; b"
    assert read.uncertainty_signal == ""
    assert read.relational_map == ["1", "x", "true"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I cannot do that.", "not a JSON object"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        (JSON[:-20], "truncated"),
        (JSON[:30], "truncated"),
        (f"```json\n{JSON[:-1]}\n```", "truncated"),
        ('{"a": 1 "b": 2}', "not JSON"),
        ('{"a": ' + "[" * 200_000, "JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "not JSON"),
        ("x" * (MAX_REPLY_CHARS + 1), "too long"),
        ("{}", "'episodic_trace' is missing"),
        (JSON.replace('"constraints"', '"rules"'), "'constraints' is missing"),
        (JSON.replace('"restore"', '{"is": "restore"}'), "'goal_orientation' has an object"),
        (JSON.replace('"server:db-01"', '["server"]'), "'focal_entities' has a list"),
    ],
)
def test_a_reply_that_is_no_ccs_is_refused_with_its_reason(reply: str, reason: str) -> None:
    with pytest.raises(ModelOutputError, match=reason) as caught:
        parse_ccs(reply)
    message = str(caught.value)
    assert len(message) < 300
    assert "\n" not in message


def test_a_truncated_reply_never_passes_for_the_object_inside_it() -> None:
    with pytest.raises(ModelOutputError, match="truncated"):
        parse_json_object('{"outer": {"decisions": []}, "rest": "never en')


def test_any_object_is_read_for_other_schemas() -> None:
    assert parse_json_object('Sure!\n```\n{"decisions": [],}\n```') == {"decisions": []}


def test_an_escape_that_json_does_not_know_is_read_without_its_backslash() -> None:
    reply = r'{"a": "\(x\) \\d \u0041 \"\n", "b": "\d+",}'
    assert parse_json_object(reply) == {"a": '(x) \\d A "\n', "b": "d+"}


@pytest.mark.parametrize("reply", ['{"' * 200_000, '{"a": "' * 100_000, "{ " * 500_000])
def test_hostile_replies_are_refused_without_a_stall(reply: str) -> None:
    with pytest.raises(ModelOutputError, match="JSON"):
        parse_json_object(reply)


def test_of_many_objects_one_is_read_without_a_stall() -> None:
    assert parse_json_object('{"a":1}' * 50_000) == {"a": 1}


@pytest.mark.parametrize(
    "piece", ['"\\', '"x', '{"a": [', "{", '{"', ",  ", '{"a":1 x}', '{"a":1,}', '{"a":"\\']
)
@pytest.mark.parametrize("opening", ['{"a":1 x ', '{"a":"', ""])
def test_a_megabyte_that_is_hardly_json_is_mended_in_one_pass(opening: str, piece: str) -> None:
    # A pass that began anew at each quote or bracket would take hours.
    reply = opening + piece * (1_000_000 // len(piece))
    with suppress(ModelOutputError):
        assert isinstance(parse_json_object(reply), dict)


def test_mending_looks_at_a_string_without_end_once() -> None:
    reply = '"\\' * 1_000
    [string] = ccs_output._STRING_OR_TRAILING_COMMA.finditer(reply)
    assert string.span() == (0, len(reply))


ADD = {"kind": "add", "quote": "Never push."}


def proposing(*changes: object) -> str:
    return json.dumps({**json.loads(JSON), "rule_changes": list(changes)})


def test_proposals_are_read_beside_the_nine_fields() -> None:
    amend = {"kind": "amend", "quote": "Make it 5.", "rule_id": "c-0001", "text": "5"}
    read = parse_compressor_reply(proposing(ADD, amend))
    assert read.model_dump(exclude={"rule_changes"}) == CCS.model_dump()
    assert [change.kind for change in read.rule_changes] == [ChangeKind.ADD, ChangeKind.AMEND]
    assert read.rule_changes[1].rule_id == "c-0001"


@pytest.mark.parametrize("absent", [JSON, JSON[:-1] + ', "rule_changes": null}'])
def test_a_reply_without_proposals_has_none(absent: str) -> None:
    assert parse_compressor_reply(absent).rule_changes == []


@pytest.mark.parametrize(
    "wrong",
    [None, 1, "Never push.", [], {}, {"kind": "lift", "quote": "x"}, {"kind": "add", "quote": []}],
)
def test_a_proposal_that_is_not_of_the_schema_costs_neither_state_nor_the_others(
    wrong: object,
) -> None:
    read = parse_compressor_reply(proposing(wrong, ADD))
    assert [change.quote for change in read.rule_changes] == ["Never push."]
    assert read.constraints == CCS.constraints


@each_case
def test_proposals_that_are_no_list_cost_no_state(wrong: str) -> None:
    read = parse_compressor_reply(f'{JSON[:-1]}, "rule_changes": {wrong}}}')
    assert (read.rule_changes, read.semantic_gist) == ([], CCS.semantic_gist)


def test_of_very_many_proposals_a_bounded_number_is_read() -> None:
    read = parse_compressor_reply(proposing(*[ADD] * 5_000))
    assert len(read.rule_changes) == MAX_RULE_CHANGES


def test_a_reply_that_is_no_ccs_is_refused_whatever_it_proposes() -> None:
    with pytest.raises(ModelOutputError, match="'episodic_trace' is missing"):
        parse_compressor_reply(json.dumps({"rule_changes": [ADD]}))
