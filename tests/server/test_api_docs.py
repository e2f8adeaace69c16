"""`/docs` and `/redoc` load nothing from another server."""

import re

import httpx
import pytest
from fastapi import FastAPI

from tests.server.asgi import client

_LOADED = re.compile(r"""(?:src|href)=["']([^"']+)["']""")


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
async def test_what_a_page_loads_is_served_here(http: httpx.AsyncClient, path: str) -> None:
    page = await http.get(path)
    assert page.status_code == 200
    loaded = _LOADED.findall(page.text)
    assert any(name.endswith(".js") for name in loaded)
    for name in loaded:
        assert name.startswith("/docs/assets/"), name
        asset = await http.get(name)
        assert asset.status_code == 200
        assert len(asset.content) > 1_000
    assert "//cdn" not in page.text
    assert "/openapi.json" in page.text


async def test_behind_a_prefix_the_page_names_it(app: FastAPI) -> None:
    app.root_path = "/memory"
    async with client(app) as http:
        page = await http.get("/docs")
    assert "/memory/docs/assets/swagger-ui-bundle.js" in page.text
    assert "/memory/openapi.json" in page.text
    await app.state.acc_ace.close()


async def test_assets_outside_of_their_folder_are_not_served(http: httpx.AsyncClient) -> None:
    assert (await http.get("/docs/assets/%2e%2e/core.py")).status_code == 404
