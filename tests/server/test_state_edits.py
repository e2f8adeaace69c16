"""The user corrects the state by hand, over HTTP."""

from typing import Any

import httpx
import pytest

SESSION = "/v1/sessions/s"


@pytest.fixture
async def state(http: httpx.AsyncClient) -> dict[str, Any]:
    """The state after a turn that set a rule."""
    sent = await http.post(f"{SESSION}/turns", json={"input": "Never restart db-01."})
    assert sent.status_code == 200
    return await current(http)


async def current(http: httpx.AsyncClient) -> dict[str, Any]:
    read: dict[str, Any] = (await http.get(f"{SESSION}/ccs")).json()
    return read


async def edit(http: httpx.AsyncClient, version: int, **fields: Any) -> httpx.Response:
    return await http.patch(f"{SESSION}/ccs", json={"version": version, "fields": fields})


async def test_an_edit_is_a_new_version_that_can_be_undone(
    http: httpx.AsyncClient, state: dict[str, Any]
) -> None:
    done = await edit(
        http, state["version"], semantic_gist="db-01 is fine.", focal_entities=["x:1"]
    )
    assert done.status_code == 200, done.text
    assert done.json()["version"] == state["version"] + 1
    assert done.json()["ccs"]["semantic_gist"] == "db-01 is fine."
    page = (await http.get(f"{SESSION}/ccs/history")).json()
    assert page["items"][0]["kind"] == "edit"
    assert {c["field"] for c in page["items"][0]["diff"]["changes"]} == {
        "semantic_gist",
        "focal_entities",
    }
    undone = await http.post(f"{SESSION}/undo")
    assert undone.json()["ccs"] == state["ccs"]
    assert undone.json()["turn"] == state["turn"]


async def test_an_edited_goal_is_the_users_own_and_stays(
    http: httpx.AsyncClient, state: dict[str, Any]
) -> None:
    done = await edit(http, state["version"], goal_orientation="Bring checkout back.")
    assert done.json()["goal"]["authority"] == "user"
    await http.post(f"{SESSION}/turns", json={"input": "db-01 is down."})
    assert (await current(http))["ccs"]["goal_orientation"] == "Bring checkout back."


@pytest.mark.parametrize(
    ("fields", "status", "named"),
    [
        ({"constraints": []}, 422, "constraints"),
        ({"gist": "x"}, 422, "gist"),
        ({"focal_entities": "db-01"}, 422, "focal_entities"),
        ({"semantic_gist": "word " * 2_000}, 422, "semantic_gist"),
        ({"relational_map": ["a -> b " * 400]}, 422, "relational_map"),
    ],
)
async def test_what_the_state_does_not_take_is_refused_whole(
    http: httpx.AsyncClient, state: dict[str, Any], fields: dict[str, Any], status: int, named: str
) -> None:
    refused = await edit(http, state["version"], **fields)
    assert refused.status_code == status
    assert named in refused.json()["detail"]
    assert await current(http) == state


async def test_an_edit_of_an_older_version_is_refused(
    http: httpx.AsyncClient, state: dict[str, Any]
) -> None:
    await http.post(f"{SESSION}/turns", json={"input": "db-01 is down."})
    assert (await edit(http, state["version"], semantic_gist="old")).status_code == 409
    assert (
        await http.patch("/v1/sessions/none/ccs", json={"version": 1, "fields": {}})
    ).status_code == 404
