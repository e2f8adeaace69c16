"""A CCM is believed as far as it earns it: counted with its turns, by endpoint, said by doctor."""

import json
from pathlib import Path

import pytest

from acc_ace import AccController, Container, build_container
from acc_ace.cli.checks.compressor_belief import check_belief
from acc_ace.turn.ports import Ccm
from acc_ace.turn.session_changes import Rollback
from config import ROLES, AgentSettings, Settings
from schemas.base import SessionKey, Tenant
from schemas.commit import CommittedState
from schemas.generation import GeneratorOutput
from schemas.interaction import TurnInput
from tests.fakes.ccm_marks import count_marks
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import fake_openai, says
from tests.fakes.scripted_llm import ScriptedLlm

ME = Tenant("acc_ace", "user")
BAN = "Never refund more than 20 euros without asking me first."
HALF = "only Tamsin or me can approve overtime."
MUTE: dict[str, object] = {"semantic_gist": "Work.", "rule_changes": []}
SMALL = Ccm("openai/small", "127.0.0.1:8080")


def settings(folder: Path, url: str = "http://someone:secret@127.0.0.1:8080/v1") -> Settings:
    agent = AgentSettings(model="openai/small", retries=0)
    return Settings(
        store="sqlite", data_dir=folder, openai_base_url=url, compressor=agent, qualifier=agent
    )


def scripted(container: Container) -> AccController:
    llm = ScriptedLlm().on("compressor", MUTE)
    models = dict.fromkeys(ROLES, llm)
    return AccController(container, app=ME.app, session="s1", user=ME.user, models=models)


def user_number(number: int) -> Tenant:
    return Tenant(ME.app, f"u{number}") if number else ME


async def marks(container: Container) -> dict[Ccm, str]:
    return {each.ccm: each.marks for each in await container.ccm_records.of_user(ME)}


async def found(folder: Path, *records: tuple[Ccm, str], users: int = 1) -> tuple[str, str]:
    """The status and the words of doctor after a process that has counted so much."""
    container = build_container(settings(folder))
    for number in range(users):
        for ccm, letters in records:
            await count_marks(container, ccm, user_number(number), letters)
    await container.close()
    (finding,) = check_belief(settings(folder))
    return finding.status, f"{finding.check}: {finding.detail}; {finding.fix}"


@needs("openai_compatible")
async def test_doctor_says_that_a_model_is_believed_with_the_counts(tmp_path: Path) -> None:
    status, said = await found(tmp_path, (SMALL, "nnnNsss"))
    assert status == "ok"
    assert said.startswith(
        "rules read by: openai/small at 127.0.0.1:8080: it called 1 a rule of 4 sentences that "
        "surely are none and passed over 0 of 3 rules (with all users: "
    )
    assert "; believed: what it calls a rule is in force, but it has not proved yet" in said
    assert "secret" not in said


@needs("openai_compatible")
async def test_doctor_says_that_a_model_has_proved_itself(tmp_path: Path) -> None:
    _, said = await found(tmp_path, (SMALL, "nnnsssss"))
    assert "; believed: what it calls a rule is in force;" in said


@needs("openai_compatible")
@pytest.mark.parametrize(("letters", "users"), [("SSSSS", 1), ("NNNNNnnn", 1), ("NN", 10)])
async def test_doctor_says_that_a_model_is_not_believed_and_what_that_means(
    tmp_path: Path, letters: str, users: int
) -> None:
    status, said = await found(tmp_path, (SMALL, letters), users=users)
    assert status == "note"
    assert "; not believed: of what it calls a rule only what half sounds like" in said
    assert "ACC_ACE_COMPRESSOR__MODEL" in said


@needs("openai_compatible")
async def test_the_same_model_elsewhere_has_a_record_of_its_own(tmp_path: Path) -> None:
    status, said = await found(tmp_path, (Ccm("openai/small", "127.0.0.1:9"), "SSSSSSSS"))
    assert status == "ok"
    assert "passed over 0 of 0 rules" in said


@needs("openai_compatible")
async def test_turns_count_for_the_endpoint_that_has_answered(tmp_path: Path) -> None:
    for turns in (1, 2):
        with fake_openai() as endpoint:
            endpoint.script("compressor", says(json.dumps(MUTE)))
            container = build_container(settings(tmp_path, endpoint.base_url))
            acc = AccController(container, app=ME.app, session=f"s{turns}", user=ME.user)
            for _ in range(turns):
                await acc.update_state(BAN, None)
            kept = await marks(container)
            await acc.close()
    assert sorted(kept.values()) == ["S", "SS"]
    assert {ccm.model for ccm in kept} == {"openai/small"}
    assert all(ccm.endpoint.startswith("127.0.0.1:") for ccm in kept)


async def test_who_points_at_the_end_of_a_rule_has_called_nothing_a_rule() -> None:
    llm = ScriptedLlm().on("compressor", {"rule_changes": [{"kind": "release", "sentence": 1}]})
    container = build_container(Settings(store="memory"))
    acc = AccController(
        container, app=ME.app, session="s1", user=ME.user, models=dict.fromkeys(ROLES, llm)
    )
    await acc.update_state("The cap on refunds is gone, you may refund any amount again.", None)
    await acc.record("Noted.")
    await acc.update_state("The courier comes on Tuesday.", None)
    await acc.record("Noted.")
    assert [*(await marks(container)).values()] == ["N"]


class Broken:
    """An agent that fails before it has answered."""

    async def decide(self, state: CommittedState, x_t: TurnInput) -> GeneratorOutput:
        raise RuntimeError("no answer")


async def test_a_turn_that_fails_does_not_count_and_one_that_was_undone_does() -> None:
    container = build_container(Settings(store="memory"))
    acc = scripted(container)
    with pytest.raises(RuntimeError):
        await acc.run_turns([BAN], Broken())
    assert await marks(container) == {}
    await acc.update_state(BAN, None)
    await acc.record("Noted.")
    assert [*(await marks(container)).values()] == ["S"]
    await Rollback(container).before_last_turn(SessionKey(*ME, "s1"))
    assert [*(await marks(container)).values()] == ["S"]


@needs("openai_compatible")
async def test_the_newest_marks_are_kept_over_restarts(tmp_path: Path) -> None:
    for _ in range(3):
        container = build_container(settings(tmp_path))
        await count_marks(container, SMALL, ME, "nS" * 20)
        kept = await marks(container)
        await container.close()
    assert [len(letters) for letters in kept.values()] == [80]
    assert (await found(tmp_path))[0] == "note"


async def told(container: Container, text: str) -> tuple[list[str], tuple[str, ...]]:
    """The rules in force and the notes after a message that a mute compressor has read."""
    acc = scripted(container)
    await acc.update_state(text, None)
    commit = acc.last_commit
    assert commit is not None
    return [pin.text for pin in commit.state.pins], acc.notes


async def test_the_silence_of_a_new_compressor_loses_no_rule_that_surely_is_one() -> None:
    rules, notes = await told(build_container(Settings(store="memory")), BAN)
    assert rules == [BAN]
    assert "In force: c-0001" in notes[0]


async def test_what_a_new_compressor_passes_over_and_may_be_a_rule_is_said() -> None:
    rules, notes = await told(build_container(Settings(store="memory")), HALF)
    assert rules == []
    assert HALF in notes[0]


@pytest.mark.parametrize(("letters", "users"), [("sssss", 1), ("ss", 10)])
async def test_one_that_has_found_rules_is_believed_when_it_finds_none(
    letters: str, users: int
) -> None:
    container = build_container(Settings(store="memory"))
    ccm = Ccm(ScriptedLlm().model)
    for number in range(users):
        await count_marks(container, ccm, user_number(number), letters)
    assert await told(container, HALF) == ([], ())
    rules, notes = await told(container, BAN)
    assert rules == []
    assert BAN in notes[0]
