"""Make the OpenAPI document tell the truth about errors, and name each operation once."""

from collections.abc import Iterable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from acc_ace.server.problems import MEDIA_TYPE, Problem

_REF: Final = {"$ref": "#/components/schemas/Problem"}


def describe_problems(app: FastAPI) -> None:
    """Add the Problem schema, and put it where FastAPI announces its own validation errors."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _name_apart(app.routes)
            document = generate()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            for path in document["paths"].values():
                for operation in path.values():
                    _replace_validation_error(operation)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _name_apart(routes: Iterable[BaseRoute]) -> None:
    """Number ADK's operations that share an id: it serves one under two spellings of a path.

    Ours are left as they are, so that FastAPI still warns of a clash under /v1.
    """
    taken: dict[str, int] = {}
    for route in routes:
        if not isinstance(route, APIRoute) or route.path.startswith("/v1/"):
            continue
        name = route.operation_id or route.unique_id
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            route.operation_id = f"{name}_{taken[name]}"


def _replace_validation_error(operation: dict[str, Any]) -> None:
    response = operation.get("responses", {}).get("422")
    if response is not None:
        response["content"] = {MEDIA_TYPE: {"schema": _REF}}
