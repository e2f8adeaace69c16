"""Thinker, sentinel and engine live a life by the text alone: what the playbook says decides."""

from collections.abc import Sequence

from acc_ace.ext.survivor.policy_model import PolicyLlm
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import CREATURES, Sizes, WorldRules
from schemas.bullet import Bullet
from tests.ext.survivor.surroundings import LivedWorld, bullet, rules, thinker, tick

MOST_TICKS = 20
HARSH = Sizes(food=60, meal=40, water=30, drink=30, harm=8)
"""Those who do not know what is what die soon."""

VERBS = {"food": "eat", "water": "drink", "remedy": "heal", "danger": "avoid"}


def lessons(world: WorldRules) -> list[Bullet]:
    """All that there is to know of a world."""
    things = [
        f'Asked about "{kind}", choose {VERBS[held]}.' for kind, held in world.natures.items()
    ]
    creatures = [
        f"A {kind} {'hunts' if kind == world.hunter else 'is harmless'}." for kind in CREATURES
    ]
    return [bullet(text, number) for number, text in enumerate((*things, *creatures), 1)]


async def steps_lived(seed: int, bullets: Sequence[Bullet]) -> int:
    """Steps of a life of at most MOST_TICKS ticks."""
    world = LivedWorld(World(WorldRules.drawn(seed), HARSH), seed)
    pins = rules("Never move onto lava.")
    mind = thinker(PolicyLlm(), bullets=12)
    for _ in range(MOST_TICKS):
        done, turn = await tick(mind, world, "in sight: whatever", pins, bullets)
        assert [step.rule_id for step in done.steps if step.rule_id] == []
        assert turn.observer.warnings == []
        if world.is_over:
            break
    assert world.burns == 0
    return len(world.made)


async def test_with_the_natures_in_its_playbook_it_lives_twice_as_long() -> None:
    known = [await steps_lived(seed, lessons(WorldRules.drawn(seed))) for seed in range(4)]
    unknown = [await steps_lived(seed, []) for seed in range(4)]
    assert sum(known) >= 2 * sum(unknown), (known, unknown)
