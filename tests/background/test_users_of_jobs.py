"""A user whose learning jobs alone are left is found by them."""

from tests.background.conftest import Make
from tests.background.learners import KEY, conversation, queue_of, settled


async def test_the_apps_of_a_users_jobs_are_known_until_they_are_erased(make: Make) -> None:
    async with conversation(make()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        queue = queue_of(talk.container)
        await settled(queue, jobs=1)
        assert await queue.apps(KEY.user) == {KEY.app}
        assert await queue.apps("op") == set()
        assert (await talk.erase_user(KEY.user))[KEY.app]["jobs"] == 1
        assert await queue.apps(KEY.user) == set()
