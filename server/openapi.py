"""Make the OpenAPI document tell the truth about errors."""

from typing import Any, Final

from fastapi import FastAPI

from server.problems import MEDIA_TYPE, Problem

_REF: Final = {"$ref": "#/components/schemas/Problem"}


def describe_problems(app: FastAPI) -> None:
    """Add the Problem schema, and put it where FastAPI announces its own validation errors."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            for path in document["paths"].values():
                for operation in path.values():
                    _replace_validation_error(operation)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _replace_validation_error(operation: dict[str, Any]) -> None:
    response = operation.get("responses", {}).get("422")
    if response is not None:
        response["content"] = {MEDIA_TYPE: {"schema": _REF}}
