import json
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from acc_ace.container import Container
from tests.fakes.scripted_llm import ScriptedLlm

BASE = "/v1/sessions/incident"
Say = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


@pytest.fixture
def say(http: httpx.AsyncClient) -> Say:
    """Take a turn of the session 'incident'."""

    async def _say(text: str, session: str = "incident", **headers: str) -> dict[str, Any]:
        url = f"/v1/sessions/{session}/turns"
        response = await http.post(url, json={"input": text}, headers=headers)
        assert response.status_code == 200, response.text
        report: dict[str, Any] = response.json()
        return report

    return _say


async def test_state_shows_nine_fields_and_where_constraints_came_from(
    http: httpx.AsyncClient, say: Say
) -> None:
    report = await say("Never restart db-01 during business hours.")
    state = (await http.get(f"{BASE}/ccs")).json()
    assert state["ccs"] == report["ccs"]
    assert len(state["ccs"]) == 9
    assert (state["version"], state["turn"]) == (report["ccs_version"], 1)
    assert [pin["text"] for pin in state["constraints"]] == state["ccs"]["constraints"]


async def test_history_pages_newest_first_with_what_each_turn_changed(
    http: httpx.AsyncClient, say: Say
) -> None:
    for number in range(1, 6):
        await say(f"fact {number}")
    first = (await http.get(f"{BASE}/ccs/history", params={"limit": 2})).json()
    versions = [item["version"] for item in first["items"]]
    assert versions == sorted(versions, reverse=True)
    seen = list(versions)
    page = first
    while page["next_before"] is not None:
        page = (
            await http.get(
                f"{BASE}/ccs/history", params={"limit": 2, "before": page["next_before"]}
            )
        ).json()
        seen += [item["version"] for item in page["items"]]
    assert seen == list(range(max(seen), 0, -1))
    assert first["items"][0]["diff"]["changes"]
    one = (await http.get(f"{BASE}/ccs/versions/{versions[0]}")).json()
    assert one == first["items"][0]


async def test_rollback_is_a_new_version_with_the_old_content(
    http: httpx.AsyncClient, say: Say
) -> None:
    first = await say("fact one")
    await say("fact two")
    response = await http.post(f"{BASE}/rollback", json={"version": first["ccs_version"]})
    state = response.json()
    assert state["ccs"] == first["ccs"]
    assert state["turn"] == 1
    assert state["version"] > 2
    history = (await http.get(f"{BASE}/ccs/history")).json()
    assert history["items"][0]["kind"] == "rollback"


async def test_undo_takes_the_last_turn_back(http: httpx.AsyncClient, say: Say) -> None:
    first = await say("fact one")
    await say("fact two")
    assert (await http.post(f"{BASE}/undo")).json()["ccs"] == first["ccs"]
    assert (await http.post(f"{BASE}/undo")).json()["turn"] == 0
    assert (await http.post(f"{BASE}/undo")).status_code == 404


async def test_an_undo_that_names_its_turn_may_be_sent_again(
    http: httpx.AsyncClient, say: Say
) -> None:
    await say("fact one")
    await say("fact two")
    first = await http.post(f"{BASE}/undo", params={"turn": 2})
    again = await http.post(f"{BASE}/undo", params={"turn": 2})
    assert (first.status_code, first.json()["turn"]) == (200, 1)
    assert again.json() == first.json()
    refused = await http.post(f"{BASE}/undo", params={"turn": 9})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert (await http.get(f"{BASE}/ccs")).json() == first.json()


async def test_reset_empties_the_state_and_keeps_the_history(
    http: httpx.AsyncClient, say: Say
) -> None:
    await say("Never restart db-01 during business hours.")
    assert (await http.post(f"{BASE}/reset")).status_code == 204
    state = (await http.get(f"{BASE}/ccs")).json()
    assert (state["ccs"]["constraints"], state["ccs"]["episodic_trace"]) == ([], "")
    assert len((await http.get(f"{BASE}/ccs/history")).json()["items"]) == 2


async def test_deleted_session_is_gone_everywhere_and_others_stay(
    http: httpx.AsyncClient, say: Say, container: Container
) -> None:
    await say("mine")
    await say("kept", session="other")
    assert (await http.delete(BASE)).status_code == 204
    assert (await http.get(f"{BASE}/ccs")).status_code == 404
    assert (await http.delete(BASE)).status_code == 404
    assert (await say("fresh"))["turn"] == 1
    assert (await http.get("/v1/sessions/other/ccs")).json()["turn"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/ccs", None),
        ("GET", "/ccs/history", None),
        ("GET", "/ccs/versions/1", None),
        ("POST", "/rollback", {"version": 1}),
        ("POST", "/undo", None),
        ("POST", "/reset", None),
        ("DELETE", "", None),
    ],
)
async def test_unknown_session_is_404_everywhere(
    http: httpx.AsyncClient, method: str, path: str, body: dict[str, int] | None
) -> None:
    response = await http.request(method, f"/v1/sessions/nobody{path}", json=body)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert "nobody" in response.json()["detail"]


@pytest.mark.parametrize("body", [{"version": 0}, {"version": "x"}, {}, {"version": 99}])
async def test_rollback_to_no_version_changes_nothing(
    http: httpx.AsyncClient, say: Say, body: dict[str, Any]
) -> None:
    await say("fact one")
    before = (await http.get(f"{BASE}/ccs")).json()
    response = await http.post(f"{BASE}/rollback", json=body)
    assert response.status_code in {404, 422}
    assert (await http.get(f"{BASE}/ccs")).json() == before


async def test_sessions_are_listed_by_page_and_only_ones_own(
    http: httpx.AsyncClient, say: Say
) -> None:
    for name in ("a", "b", "c"):
        await say("x", session=name)
    await say("x", session="foreign", **{"X-User": "bob"})
    first = (await http.get("/v1/sessions", params={"limit": 2})).json()
    assert [item["session"] for item in first["items"]] == ["c", "b"]
    rest = (
        await http.get("/v1/sessions", params={"limit": 2, "before": first["next_before"]})
    ).json()
    assert [item["session"] for item in rest["items"]] == ["a"]
    assert rest["next_before"] is None
    bobs = (await http.get("/v1/sessions", params={"user": "bob"})).json()
    assert [item["session"] for item in bobs["items"]] == ["foreign"]


async def test_users_do_not_share_sessions_of_one_name(http: httpx.AsyncClient, say: Say) -> None:
    await say("alice's", **{"X-User": "alice"})
    assert (await http.get(f"{BASE}/ccs", headers={"X-User": "bob"})).status_code == 404
    assert (await say("bob's", **{"X-User": "bob"}))["turn"] == 1


async def test_two_names_for_the_user_are_refused(http: httpx.AsyncClient) -> None:
    response = await http.get("/v1/sessions?user=a", headers={"X-User": "b"})
    assert response.status_code == 422


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x"])
async def test_pages_are_bounded(http: httpx.AsyncClient, query: str) -> None:
    assert (await http.get(f"/v1/sessions?{query}")).status_code == 422


async def test_erased_user_leaves_nothing_and_others_keep_all(
    http: httpx.AsyncClient, say: Say
) -> None:
    await say("alice's", **{"X-User": "alice"})
    await say("bob's", **{"X-User": "bob"})
    erased = (await http.delete("/v1/users/alice")).json()["deleted"]
    assert erased["journal"] >= 1
    assert (await http.get("/v1/sessions?user=alice")).json()["items"] == []
    assert len((await http.get("/v1/sessions?user=bob")).json()["items"]) == 1


async def test_export_is_one_record_a_line_about_one_user_and_ends_with_end(
    http: httpx.AsyncClient, say: Say
) -> None:
    await say("alice's walnut", **{"X-User": "alice"})
    await say("bob's chestnut", **{"X-User": "bob"})
    exported = await http.get("/v1/users/alice/export")
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    records = [json.loads(line) for line in exported.text.splitlines()]
    assert records[-1] == {"kind": "end"}
    assert "walnut" in exported.text
    assert "chestnut" not in exported.text


async def test_a_session_deleted_with_consent_leaves_its_preferences(
    http: httpx.AsyncClient, say: Say
) -> None:
    await say("I prefer short answers.")
    assert (await http.delete("/v1/sessions/incident?keep_notes=true")).status_code == 204
    exported = (await http.get("/v1/users/user/export")).text
    assert "preference: I prefer short answers." in exported
    assert (await http.get("/v1/sessions/incident/ccs")).status_code == 404


async def test_playbook_grows_and_its_log_names_nobody_else(
    http: httpx.AsyncClient, say: Say, scripted: ScriptedLlm
) -> None:
    lesson = "Check the connection pool before the disk."
    operation = {"type": "ADD", "section": "strategies", "content": lesson}
    scripted.on("reflector", {"key_insight": lesson, "reasoning": "learned", "bullet_tags": []})
    scripted.on("curator", {"reasoning": "new", "operations": [operation]})
    await say("The pool was exhausted.", **{"X-User": "alice"})
    playbook = (await http.get("/v1/playbook")).json()
    assert [bullet["content"] for bullet in playbook["bullets"]] == [lesson]
    assert playbook["stats"]["bullets"] == 1
    own = (await http.get("/v1/playbook/deltas", headers={"X-User": "alice"})).json()["items"]
    assert (own[0]["kind"], own[0]["status"], own[0]["session"]) == ("ADD", "applied", "incident")
    foreign = (await http.get("/v1/playbook/deltas", headers={"X-User": "bob"})).json()
    assert foreign["items"][0]["session"] is None
    assert "alice" not in str(foreign)


async def test_models_say_what_they_are(http: httpx.AsyncClient) -> None:
    models = (await http.get("/v1/models")).json()
    assert [model["agent"] for model in models] == [
        "qualifier",
        "compressor",
        "generator",
        "reflector",
        "curator",
    ]
    assert {model["note"] for model in models} == {"extractive, not an LLM"}
