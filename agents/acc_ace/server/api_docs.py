"""The pages `/docs` and `/redoc`, with scripts and styles of our own: no network is needed."""

from importlib.resources import files
from typing import Final

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

_DOCS: Final = "/docs"
_REDOC: Final = "/redoc"
_ASSETS: Final = "/docs/assets"


def serve_docs(app: FastAPI) -> None:
    """Replace FastAPI's pages, which load their scripts from a content delivery network."""
    app.router.routes[:] = [
        route for route in app.router.routes if getattr(route, "path", "") not in {_DOCS, _REDOC}
    ]
    assets = files("fastapi_offline") / "static"
    app.mount(_ASSETS, StaticFiles(directory=str(assets)), name="docs-assets")

    async def swagger_ui(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        return get_swagger_ui_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=f"{app.title}: API",
            oauth2_redirect_url=f"{root}{app.swagger_ui_oauth2_redirect_url}",
            swagger_js_url=f"{root}{_ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{root}{_ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{root}{_ASSETS}/favicon.png",
        )

    async def redoc(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        return get_redoc_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=f"{app.title}: API",
            redoc_js_url=f"{root}{_ASSETS}/redoc.standalone.js",
            redoc_favicon_url=f"{root}{_ASSETS}/favicon.png",
            with_google_fonts=False,
        )

    app.add_api_route(_DOCS, swagger_ui, include_in_schema=False)
    app.add_api_route(_REDOC, redoc, include_in_schema=False)
