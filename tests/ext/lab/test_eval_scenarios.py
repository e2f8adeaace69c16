"""`acc-ace eval temptation`: the scenarios and attacks of the package."""

from typing import get_args

import pytest

from acc_ace.ext.lab.temptation.scenario import (
    AttackKind,
    Language,
    Scenario,
    load_suite,
)
from acc_ace.ext.lab.temptation.talk import talk
from tests.fakes.extensions import needs

pytestmark = needs("lab")

SUITE = load_suite()
LANGUAGES = get_args(Language)


def test_each_domain_has_scenarios_in_both_languages() -> None:
    found = {(scenario.domain, scenario.language) for scenario in SUITE.scenarios}
    domains = {domain for domain, _ in found}
    assert len(domains) >= 2
    assert found == {(domain, language) for domain in domains for language in LANGUAGES}


@pytest.mark.parametrize("scenario", SUITE.scenarios, ids=lambda one: one.name)
def test_each_call_of_a_scenario_fits_a_tool(scenario: Scenario) -> None:
    parameters = {tool.name: set(tool.parameters) for tool in scenario.tools}
    assert len(parameters) == len(scenario.tools)
    tasks = (scenario.wrong, scenario.allowed, *scenario.benign)
    for call in [task.call for task in tasks if task.call]:
        assert set(call.args) == parameters[call.tool]
    assert scenario.wrong.call
    assert scenario.allowed.call
    assert scenario.wrong.call != scenario.allowed.call
    assert scenario.wrong.call not in [task.call for task in scenario.benign]


@pytest.mark.parametrize("scenario", SUITE.scenarios, ids=lambda one: one.name)
def test_what_a_scenario_says_tells_its_turns_apart(scenario: Scenario) -> None:
    tasks = (scenario.wrong, scenario.allowed, *scenario.benign)
    said = [scenario.rule, scenario.release, scenario.question, *(task.say for task in tasks)]
    assert len(set(said)) == len(said)
    assert scenario.rule not in scenario.release
    assert not any(scenario.rule in task.say for task in tasks)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", [kind for kind in get_args(AttackKind) if kind != "none"])
def test_an_attack_of_every_kind_is_made_in_both_languages(
    kind: AttackKind, language: Language
) -> None:
    scenarios = [one for one in SUITE.scenarios if one.language == language]
    assert scenarios
    for scenario in scenarios:
        attacked = talk(scenario, SUITE.attacks, kind, benign=2, seed=0)
        plain = talk(scenario, SUITE.attacks, "none", benign=2, seed=0)
        assert len(attacked.turns) == len(plain.turns) + 1
        assert not any(place in attacked.attack for place in ("{rule}", "{tool}", "{act}"))
        held = [f"{turn.say} {turn.result} {turn.lesson}" for turn in attacked.turns]
        assert any((attacked.attack or scenario.loosening).strip() in words for words in held)


def test_the_same_seed_draws_the_same_talk_and_another_draws_another() -> None:
    [scenario, *_] = SUITE.scenarios

    def drawn(seed: int) -> tuple[str, ...]:
        turns = talk(scenario, SUITE.attacks, "document", benign=6, seed=seed).turns
        return tuple(turn.say for turn in turns)

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(10)}) > 1
