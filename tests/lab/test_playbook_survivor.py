"""Whether a playbook helps to survive: one command for every model, Gemini over HTTP included."""

import json
import re

import pytest

from acc_ace.survival.senses import Stance
from acc_ace.survival.world_rules import KINDS
from bench.playbook_survivor import main
from bench.survival_benefit import Survival
from tests.fakes.default_replies import read_tagged
from tests.fakes.fake_gemini import fake_gemini, http_error, says_json, wire_text
from tests.fakes.loopback import HttpReply, Received

BY_CHANGE = {
    "health -": "Avoid {}s.",
    "energy +": "Eat {}s.",
    "water +": "Drink {}s.",
    "health +": "Heal by {}s.",
}


def answering(received: Received) -> HttpReply:
    """Follows a bullet about the kind that is asked about."""
    inputs = read_tagged(wire_text(received.body))
    kind = inputs["current_input"]["text"].splitlines()[-1].removeprefix("1. ")
    reported = re.search(rf"\[(b-\d+)\][^\n]*:: (\w+)[^\n]*\b{kind}s\.", inputs["playbook"])
    stance = reported[2].lower() if reported else Stance.TRY
    return says_json({"final_answer": stance, "bullet_ids": [reported[1]] if reported else []})


def reflecting(received: Received) -> HttpReply:
    """Draws the lesson from what was felt, in words; the reward must fit them."""
    (feedback,) = read_tagged(wire_text(received.body))["feedback"]
    touched = re.fullmatch(r"touched (\w+): (\w+ [+-])\d+", feedback["comment"])
    assert touched is not None
    assert (feedback["reward"] < 0) == touched[2].endswith("-")
    return says_json({"key_insight": BY_CHANGE[touched[2]].format(touched[1])})


def curating(received: Received) -> HttpReply:
    insight = read_tagged(wire_text(received.body))["reflection"]["key_insight"]
    return says_json({"operations": [{"type": "ADD", "section": "things", "content": insight}]})


def test_gemini_decides_and_learns_over_http_by_the_same_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_gemini() as gemini:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        gemini.script("generator", answering)
        gemini.script("reflector", reflecting)
        gemini.script("curator", curating)
        arguments = ["--seeds", "1", "--train", "4", "--test", "2", "--json"]
        assert main([*arguments, "--model", "gemini-3.5-flash"]) == 0
        reported = json.loads(capsys.readouterr().out)
        (trial,) = Survival.model_validate(reported).trials
        assert (reported["model"], reported["policy"]) == ("gemini-3.5-flash", "model")
        assert {item.model for item in gemini.requests} == {"gemini-3.5-flash"}
        assert trial.calls == len(gemini.requests)
        assert trial.failures == 0
        assert 0 < trial.bullets <= len(KINDS)
        assert trial.learnt.harms < trial.without.harms
        # One question a kind and life, however long the life is.
        assert len(gemini.requests_of("generator")) <= (4 + 2 * 2) * len(KINDS)


def test_both_policies_live_by_what_was_learnt_with_no_network(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = {}
    for policy in ("reader", "model"):
        arguments = ["--seeds", "2", "--train", "4", "--test", "4", "--policy", policy, "--json"]
        assert main(arguments) == 0
        found[policy] = Survival.model_validate(json.loads(capsys.readouterr().out))
    for survival in found.values():
        assert all(trial.learnt.harms < trial.without.harms for trial in survival.trials)
        assert survival.foreign_difference is not None
        assert survival.foreign_difference.mean < survival.difference.mean
        assert survival.difference.low <= survival.difference.mean <= survival.difference.high
    reader, model = found["reader"], found["model"]
    assert reader.trials[0].without == model.trials[0].without
    assert reader.trials[0].calls < model.trials[0].calls


def test_the_table_names_the_model_and_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "1", "--train", "1", "--test", "1"]) == 0
    reported = capsys.readouterr().out
    assert reported.startswith("model scripted/student, policy reader\n")
    assert "learnt - without" in reported
    assert "foreign - without" not in reported, "one seed has no other rules to learn from"
    assert "95 % interval" in reported


@pytest.mark.parametrize("option", ["--seeds", "--train", "--test"])
def test_nothing_to_live_is_refused_in_one_line(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([option, "0"]) == 2
    assert capsys.readouterr().err.startswith("error (invalid_input): at least one seed")


@pytest.mark.parametrize(("policy", "what"), [("model", "questions"), ("reader", "lessons")])
def test_a_model_that_is_away_is_told_in_one_line(
    policy: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_gemini() as gemini:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        for role in ("generator", "reflector", "curator"):
            gemini.script(role, http_error(400, "no such model"))
        arguments = ["--seeds", "1", "--train", "9", "--policy", policy]
        assert main([*arguments, "--model", "gemini-3.5-flash"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error (model_unavailable): 10 {what} in a row failed")
    assert len(error.splitlines()) == 1
