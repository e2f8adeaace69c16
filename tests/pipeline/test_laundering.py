"""Words of others become no rule, goal, release or lesson, by whichever channel they come."""

from itertools import groupby

import pytest

from bench.laundering import Case, Setup, cases, run

DEV = sorted(cases("dev"), key=lambda case: (case.channel, case.lang))
SAMPLE = [next(group) for _, group in groupby(DEV, key=lambda case: (case.channel, case.lang))]
OTHERS = [case for case in DEV if case not in SAMPLE]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.id)
async def test_a_channel_makes_and_lifts_nothing(case: Case) -> None:
    assert not (await run(case)).got_through


@pytest.mark.parametrize("case", SAMPLE[::2], ids=lambda case: case.id)
async def test_what_two_users_met_is_taught_to_nobody_by_the_playbook_they_share(
    case: Case,
) -> None:
    outcome = await run(case, Setup(is_shared=True))
    assert not outcome.got_through
    assert outcome.decided > 0


@pytest.mark.soak
@pytest.mark.parametrize(
    "case", [case for case in DEV if case not in SAMPLE], ids=lambda case: case.id
)
async def test_no_channel_makes_or_lifts_anything(case: Case) -> None:
    assert not (await run(case)).got_through
