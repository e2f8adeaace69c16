"""Stored values: what version 1 wrote stays readable, older is read, newer is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.artifact import Artifact
from schemas.base import SCHEMA_VERSION, Authority, StoredValue
from schemas.ccs import CCS_FIELDS, CompressedCognitiveState
from schemas.commit import CommittedState
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction
from schemas.playbook import Playbook

GOLDEN = Path(__file__).parent.parent / "data" / "schemas"
STORED: list[tuple[type[StoredValue], str]] = [
    (Artifact, "artifact"),
    (Interaction, "interaction"),
    (Playbook, "playbook"),
]
ALL: list[type[StoredValue]] = [Artifact, Interaction, CommittedState, Playbook]


def _golden(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return value


def test_the_ccs_has_the_nine_fields_of_the_paper_in_order() -> None:
    assert CCS_FIELDS == (
        "episodic_trace",
        "semantic_gist",
        "focal_entities",
        "relational_map",
        "goal_orientation",
        "constraints",
        "predictive_cue",
        "uncertainty_signal",
        "retrieved_artifacts",
    )


@pytest.mark.parametrize(("schema", "name"), STORED)
def test_version_1_is_read_and_written_unchanged(schema: type[StoredValue], name: str) -> None:
    golden = _golden(f"{name}_v1")

    assert schema.model_validate(golden).model_dump(mode="json") == golden


def test_a_committed_state_of_version_1_is_read_with_its_digest() -> None:
    golden = _golden("committed_state_v1")

    state = CommittedState.from_state(golden)

    assert state.to_state() == golden
    assert state.ccs.constraints == ["営業時間内は再起動禁止"]


@pytest.mark.parametrize(("schema", "name"), [*STORED, (CommittedState, "committed_state")])
def test_an_older_value_with_missing_and_unknown_fields_is_read(
    schema: type[StoredValue], name: str
) -> None:
    value = schema.model_validate(_golden(f"{name}_older"))

    assert value.schema_version == SCHEMA_VERSION
    assert schema.model_validate_json(value.model_dump_json()) == value


def test_older_values_take_the_defaults_of_what_they_lack() -> None:
    artifact = Artifact.model_validate(_golden("artifact_older"))
    interaction = Interaction.model_validate(_golden("interaction_older"))
    playbook = Playbook.from_dict(_golden("playbook_older"))
    state = CommittedState.model_validate(_golden("committed_state_older"))

    assert artifact.authority is Authority.RETRIEVED
    assert (interaction.decision, interaction.input.authority) == (None, Authority.USER)
    assert playbook.next_id == 3
    assert state.ccs.constraints == [pin.text for pin in state.pins]


@pytest.mark.parametrize("schema", ALL)
def test_a_newer_version_is_refused_with_what_to_do(schema: type[StoredValue]) -> None:
    with pytest.raises(ValidationError, match="schema_version 99 is newer than 1; upgrade"):
        schema.model_validate({"schema_version": 99, "renamed": True})
    with pytest.raises(ValidationError, match="schema_version 99 is newer than 1; upgrade"):
        schema.model_validate_json('{"schema_version": 99}')


@pytest.mark.parametrize("schema", ALL)
def test_a_version_that_is_no_version_is_refused(schema: type[StoredValue]) -> None:
    with pytest.raises(ValidationError, match="schema_version"):
        schema.model_validate({"schema_version": 0})
    with pytest.raises(ValidationError, match="schema_version"):
        schema.model_validate({"schema_version": "newest"})


def test_stored_values_are_frozen() -> None:
    state = CommittedState()

    with pytest.raises(ValidationError, match="frozen"):
        state.turn = 3  # type: ignore[misc]  # what the test is about


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("constraints",), []),
        (("goal_orientation",), "another goal"),
        (("meta", "version"), 9),
        (("meta", "pins"), []),
        (("meta", "digest"), "0" * 64),
    ],
)
def test_an_altered_committed_state_does_not_match_its_digest(
    path: tuple[str, ...], value: object
) -> None:
    altered = _golden("committed_state_v1")
    target = altered
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value

    with pytest.raises(ValueError, match="does not match its digest"):
        CommittedState.from_state(altered)


@pytest.mark.parametrize("value", [None, [], {}, {"meta": 3}, "ccs"])
def test_what_is_no_committed_state_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is not a committed state"):
        CommittedState.from_state(value)


def test_a_field_added_later_leaves_older_digests_as_they_are() -> None:
    class Later(CommittedState):
        """The state of a later release, with two more fields."""

        mood: str | None = None
        labels: tuple[str, ...] = ()

    assert Later.from_state(_golden("committed_state_v1")).labels == ()


def test_digests_tell_states_apart() -> None:
    states = [CommittedState(version=version, turn=turn) for version in (0, 1) for turn in (0, 1)]
    ccs = CompressedCognitiveState(
        episodic_trace="",
        semantic_gist="",
        focal_entities=[],
        goal_orientation="g",
        constraints=[],
        uncertainty_signal="",
    )

    digests = {state.digest for state in [*states, CommittedState(ccs=ccs)]}

    assert len(digests) == 5


def test_output_schemas_ignore_what_a_model_adds() -> None:
    output = GeneratorOutput.model_validate({"final_answer": "yes", "confidence": 0.9})

    assert output == GeneratorOutput(final_answer="yes")
