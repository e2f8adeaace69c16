"""Reading a model's reply as its class: what is plain is mended, what is not is set apart."""

import json
import re
from contextlib import suppress

import pytest

from acc_ace.core.schemas.commit import ChangeKind, CompressorReply
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.schemas.interaction import ActVerdict, GeneratorOutput
from acc_ace.core.schemas.qualification import RelevanceBatch
from acc_ace.core.schemas.reflection import Reflection
from acc_ace.core.text import reply_reading
from acc_ace.core.text.reply_reading import (
    MAX_REPLY_CHARS,
    MOST_ITEMS,
    parse_json_object,
    read_reply,
)
from acc_ace.errors import ModelOutputError


def compressed(reply: str) -> CompressorReply:
    return read_reply(CompressorReply, reply)


CCS = CompressorReply(
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
JSON = CCS.model_dump_json(exclude={"rule_changes"})


@pytest.mark.parametrize(
    "reply",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"Here is {{the}} state:\n\n{JSON}\nI hope this helps {{:}}.",
        f"\ufeff  {JSON}  ",
        f"{{}} was the old one, this is the new one: {JSON}",
        f"<think>Maybe {{'semantic_gist': '{'x' * 900}'}}?</think>{JSON}",
        f'{{"state": {JSON}}}',
        JSON.replace('"', "'").replace("null", "None"),
        json.dumps(json.loads(JSON), indent=2).replace("\n}", ",\n}").replace("\n  ]", ",\n  ]"),
        JSON.replace("disk }", "disk\n}"),
        json.dumps(JSON),
        json.dumps(JSON)[1:-1],
        re.sub(r'"([^"]*)"', "“\\1”", JSON),
        re.sub(r'"(\w+)":', r"\1 :", JSON),
        "```json\n" + re.sub(r'"(\w+)":', r"\1:", JSON) + "\n```",
        JSON.replace("{", '{ // the "state"\n/* all', 1).replace("all", "all */", 1),
        JSON.replace('":', '"：').replace('],"', ']，"'),
    ],
    ids=[
        "plain",
        "fenced",
        "prose",
        "bom",
        "two objects",
        "thoughts",
        "wrapped",
        "python",
        "trailing commas",
        "raw newline",
        "JSON in a string",
        "escaped quotes",
        "curly quotes",
        "bare keys",
        "fenced bare keys",
        "comments",
        "full-width signs",
    ],
)
def test_the_nine_fields_are_read_through_wrapping(reply: str) -> None:
    read = compressed(reply)
    assert read.model_copy(update={"episodic_trace": CCS.episodic_trace}) == CCS


def test_fields_that_are_missing_or_null_stay_as_before() -> None:
    data = json.loads(JSON)
    for name in ("episodic_trace", "relational_map", "constraints"):
        del data[name]
    read = compressed(json.dumps({**data, "predictive_cue": None}))
    assert read == CCS.model_copy(
        update=dict.fromkeys(
            ("episodic_trace", "relational_map", "constraints", "predictive_cue"), None
        )
    )
    assert compressed("{}") == CompressorReply()


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
    read = compressed(json.dumps(data))
    assert read.focal_entities is None
    assert read.constraints == ["one rule"]
    assert read.semantic_gist == "a; b"
    assert read.uncertainty_signal is None
    assert read.relational_map == ["1", "x", "true"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I cannot do that.", "not a JSON object"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        (JSON[:-24], "truncated"),
        (JSON[:30], "truncated"),
        (f"```json\n{JSON[:-1]}\n```", "truncated"),
        ('{"a": 1 "b": 2}', "not JSON"),
        ('{"a": ' + "[" * 200_000, "JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "not JSON"),
        ("x" * (MAX_REPLY_CHARS + 1), "too long"),
        ("{'a': 'never en", "truncated"),
        ('{"answer": 42}', "none of the fields"),
    ],
)
def test_a_reply_that_is_no_ccs_is_refused_with_its_reason(reply: str, reason: str) -> None:
    with pytest.raises(ModelOutputError, match=reason) as caught:
        compressed(reply)
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


@pytest.mark.parametrize(
    "text",
    [
        'see https://a.example // and /* "this" */',
        "he said “no”, key: value，then “yes",
        'C:\\dir\\ {a: 1} {"b": 2}',
        '"{\\"a\\": 1}"',
    ],
)
@pytest.mark.parametrize("quoted", [False, True])
def test_a_mended_reply_keeps_what_stands_in_its_strings(text: str, *, quoted: bool) -> None:
    reply = f"{{text: {json.dumps(text, ensure_ascii=False)}, // {text!r}\nmore: [None,],}}"
    assert parse_json_object(reply) == {"text": text, "more": [None]}
    plain = json.dumps({"text": text})
    assert parse_json_object(json.dumps(plain) if quoted else plain) == {"text": text}


def test_what_only_looks_like_a_loose_object_in_prose_is_passed_over() -> None:
    assert parse_json_object('Fill in {name: value} or “{x}”: {"a": "b"}') == {"a": "b"}


@pytest.mark.parametrize(
    "reply",
    [
        *('{"' * 200_000, '{"a": "' * 100_000, "{ " * 500_000, "{a:" * 200_000, "{“" * 200_000),
        *("{//" * 200_000, "{/*" * 200_000, '{"a" ' + ",/*" * 200_000, "{a" + " a" * 200_000),
        *('"' + "{\\" * 200_000, '{\\"' * 200_000, '"' * 200_001, "{a: " + "，" * 200_000),
    ],
)
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
    [string] = reply_reading._MENDED.finditer(reply)
    assert string.span() == (0, len(reply))


ADD = {"kind": "add", "quote": "Never push."}


def proposing(*changes: object) -> str:
    return json.dumps({**json.loads(JSON), "rule_changes": list(changes)})


def test_proposals_are_read_beside_the_nine_fields() -> None:
    amend = {"kind": "amend", "quote": "Make it 5.", "rule_id": "c-0001", "text": "5"}
    read = compressed(proposing(ADD, amend))
    assert read.model_copy(update={"rule_changes": None}) == CCS
    assert [change.kind for change in read.rule_changes or ()] == [ChangeKind.ADD, ChangeKind.AMEND]
    assert (read.rule_changes or [])[1].rule_id == "c-0001"


@pytest.mark.parametrize(
    ("absent", "read"),
    [
        (JSON, None),
        (JSON[:-1] + ', "rule_changes": null}', None),
        (JSON[:-1] + ', "rule_changes": []}', []),
        (proposing(None, "", {}, {"kind": "add", "quote": " "}), []),
    ],
)
def test_a_reply_without_proposals_has_none(absent: str, read: object) -> None:
    assert (compressed(absent).rule_changes, compressed(absent).unreadable) == (read, [])


@pytest.mark.parametrize(
    "wrong",
    [1.5, [], {"kind": "frobnicate", "quote": "x"}, {"kind": "release", "rule_id": "c-0001"}],
)
def test_a_proposal_that_cannot_be_read_is_set_apart_from_the_others(wrong: object) -> None:
    read = compressed(proposing(wrong, ADD))
    assert [change.quote for change in read.rule_changes or ()] == ["Never push."]
    assert [json.dumps(wrong) in shown for shown in read.unreadable] == [True]
    assert read.constraints == CCS.constraints


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ([{"kind": "ADD_RULE", "quote": "Never push."}], ChangeKind.ADD),
        ([{"Kind": "Added", "Quote": "Never push."}], ChangeKind.ADD),
        ([{"kind": "prohibition", "rule": "Never push."}], ChangeKind.ADD),
        ([{"quote": "Never push.", "sure": None}], ChangeKind.ADD),
        ({"quote": "Never push."}, ChangeKind.ADD),
        ('[{"quote": "Never push."}]', ChangeKind.ADD),
        ({"lift": [{"quote": "Never push.", "ruleId": "c-0001"}]}, ChangeKind.RELEASE),
        ([{"type": "release the rule", "id": "c-0001", "text": "Never push."}], ChangeKind.RELEASE),
        ([{"kind": "変更", "quote": "Never push.", "rule_id": "c-0001"}], ChangeKind.AMEND),
    ],
)
def test_a_proposal_in_another_spelling_is_mended(written: object, kind: ChangeKind) -> None:
    [change] = compressed(json.dumps({"rule_changes": written})).rule_changes or []
    assert (change.kind, change.quote) == (kind, "Never push.")


def test_numbers_of_sentences_that_a_model_copied_along_are_no_words() -> None:
    copied = {"sentence": 2, "quote": "Hello! ⟦2⟧Never push.", "text": "⟦2⟧Never push."}
    [change] = compressed(json.dumps({"rule_changes": [copied]})).rule_changes or []
    assert (change.number, change.quote, change.text) == (2, "Hello! Never push.", "Never push.")


def test_of_very_many_proposals_a_bounded_number_is_read_and_the_rest_counted() -> None:
    read = compressed(proposing(*[ADD] * (MOST_ITEMS + 3)))
    assert (len(read.rule_changes or ()), read.unreadable) == (MOST_ITEMS, ["3 more entries"])


def test_objects_for_texts_are_read_as_the_texts_that_they_hold() -> None:
    read = compressed(
        '{"episodic_trace": [{"input": "Restart?", "facts": ["db-01 is down"]}], "focal_entities": '
        '[{"type": "server", "name": "db-01"}], "relational_map": {"cause": "a -> b"}}'
    )
    assert read.episodic_trace == "Restart?; db-01 is down"
    assert (read.focal_entities, read.relational_map) == (["server:db-01"], ["cause:a -> b"])


@pytest.mark.parametrize(
    "reply",
    [
        '{"decisions": [{"artifact_id": "a-1", "relevant": "Yes"}]}',
        '{"decisions": {"a-1": true}}',
        '{"decisions": {"artifactId": "a-1", "relevant": 1}}',
        '[{"artifact_id": "a-1", "relevant": true}]',
        "{'decisions': [{'id': 'a-1', 'relevant': True}]}",
    ],
)
def test_a_decision_is_read_in_any_of_its_forms(reply: str) -> None:
    [decision] = read_reply(RelevanceBatch, reply).decisions
    assert (decision.artifact_id, decision.relevant) == ("a-1", True)


def test_values_of_other_types_are_read_where_they_are_plain() -> None:
    tags = read_reply(Reflection, '{"bullet_tags": [{"id": 7, "tag": "Very HELPFUL"}]}').bullet_tags
    assert [(tag.id, tag.tag) for tag in tags] == [("7", "helpful")]


@pytest.mark.parametrize("tag", ["not helpful", "helpful or harmful", "unhelpful", "7", ""])
def test_a_choice_that_is_not_plain_is_not_guessed(tag: str) -> None:
    read = read_reply(Reflection, json.dumps({"bullet_tags": [{"id": "b-1", "tag": tag}]}))
    assert (read.bullet_tags, len(read.unreadable)) == ([], 1)


def test_a_verdict_that_says_neither_yes_nor_no_decides_nothing() -> None:
    assert read_reply(ActVerdict, '{"why": "Hm.", "conflict": "unclear"}').conflict is None


def test_what_a_reply_cannot_do_without_is_named() -> None:
    with pytest.raises(ModelOutputError, match=r"GeneratorOutput\.final_answer"):
        read_reply(GeneratorOutput, '{"reasoning": ["x"], "final_answer": null}')


@pytest.mark.parametrize("schema", [CompressorReply, RelevanceBatch, Reflection, DeltaBatch])
def test_an_empty_object_is_a_reply_where_nothing_is_required(
    schema: type[CompressorReply | RelevanceBatch | Reflection | DeltaBatch],
) -> None:
    assert read_reply(schema, "{}") == schema()
