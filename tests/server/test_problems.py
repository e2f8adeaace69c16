from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, HTTPException

from acc_ace import errors
from acc_ace.errors import AccAceError
from acc_ace.server.problems import MEDIA_TYPE, install_problem_handlers, problem_of, status_of
from tests.server.asgi import client


def _kinds(kind: type[AccAceError]) -> list[type[AccAceError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _kinds(child))]


@pytest.mark.parametrize("kind", _kinds(AccAceError))
async def test_every_error_of_ours_is_a_problem_with_its_code(
    kind: type[AccAceError], tmp_path: Path
) -> None:
    app = FastAPI()
    install_problem_handlers(app, data_dir=tmp_path)

    @app.get("/fails")
    async def fails() -> None:
        raise kind("the thing and the fix")

    async with client(app) as http:
        response = await http.get("/fails")
    body = response.json()
    assert response.headers["content-type"] == MEDIA_TYPE
    assert response.status_code == body["status"] == status_of(kind())
    assert body["code"] == kind.code
    assert body["type"] == f"urn:acc-ace:{kind.code}"
    assert body["detail"] == "the thing and the fix"
    assert body["instance"] == "/fails"


def test_statuses_say_who_can_mend_it() -> None:
    expected = {
        errors.InputError: 422,
        errors.InputTooLargeError: 413,
        errors.NotFoundError: 404,
        errors.SessionBusyError: 409,
        errors.ConstraintBudgetError: 422,
        errors.StoreError: 503,
        errors.CorruptStoreError: 503,
        errors.ModelUnavailable: 503,
        errors.ModelRefused: 502,
        errors.MemoryBypassedError: 500,
    }
    assert {kind: status_of(kind()) for kind in expected} == expected


async def test_unexpected_errors_tell_the_client_nothing(tmp_path: Path) -> None:
    app = FastAPI()
    install_problem_handlers(app, data_dir=tmp_path)

    @app.get("/adk")
    async def adk() -> None:
        raise HTTPException(500, detail="Traceback: /secret/path")

    async with client(app) as http:
        response = await http.get("/adk")
    assert response.json()["code"] == "internal_server_error"
    assert "secret" not in response.text
    value = problem_of(ZeroDivisionError("/secret"), instance="/x", data_dir=tmp_path)
    assert (value.status, value.code) == (500, "internal")
    assert "secret" not in value.detail


def test_data_directory_is_named_by_its_setting(tmp_path: Path) -> None:
    error = errors.StoreError(f"{tmp_path}/memory.db is locked; close the other program")
    value = problem_of(error, instance="/x", data_dir=tmp_path)
    assert value.detail == "ACC_ACE_DATA_DIR/memory.db is locked; close the other program"


async def test_not_json_is_400_and_wrong_fields_are_422(tmp_path: Path) -> None:
    app = FastAPI()
    install_problem_handlers(app, data_dir=tmp_path)

    @app.post("/add")
    async def add(body: dict[str, int]) -> None: ...

    async with client(app) as http:
        broken = await http.post("/add", content="{", headers={"Content-Type": "application/json"})
        wrong = await http.post("/add", json={"a": "b"})
        missing = await http.get("/nothing")
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid_json")
    assert (wrong.status_code, wrong.json()["errors"][0]["loc"]) == (422, ["body", "a"])
    assert (missing.status_code, missing.headers["content-type"]) == (404, MEDIA_TYPE)


def test_what_a_plugin_raised_is_told_although_adk_wraps_it(tmp_path: Path) -> None:
    wrapped = RuntimeError("Error in plugin 'bounded_memory'")
    wrapped.__cause__ = errors.MemoryBypassedError("use run_async")
    reported = problem_of(wrapped, instance="/run", data_dir=tmp_path)
    assert (reported.status, reported.code, reported.detail) == (
        500,
        "memory_bypassed",
        "use run_async",
    )


@pytest.mark.parametrize("sent", ["application/x-www-form-urlencoded", "text/plain", None])
async def test_a_body_that_is_not_called_json_is_told_how_to_be(
    http: httpx.AsyncClient, sent: str | None
) -> None:
    headers = {} if sent is None else {"Content-Type": sent}
    refused = await http.post("/v1/sessions/s/turns", content='{"input": "x"}', headers=headers)
    assert refused.status_code == 422
    assert "'Content-Type: application/json'" in refused.json()["detail"]


@pytest.mark.parametrize("content", ["[]", '{"inputs": "x"}'])
async def test_a_json_body_with_a_fault_is_told_of_the_fault_alone(
    http: httpx.AsyncClient, content: str
) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    refused = await http.post("/v1/sessions/s/turns", content=content, headers=headers)
    assert refused.status_code == 422
    assert "Content-Type" not in refused.json()["detail"]
