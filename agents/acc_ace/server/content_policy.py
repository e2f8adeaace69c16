"""What each kind of page may load: nothing of another host, whatever an answer on it asks for.

A picture of another host would carry what is in its address out of the conversation.
"""

import re
from importlib.resources import files
from typing import Final

from starlette.responses import HTMLResponse

DEV_UI: Final = "/dev-ui/"

_OWN: Final = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "font-src 'self' data:; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; "
    "frame-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'self'; script-src 'self' "
)
_POLICIES: Final = (
    # ADK's page loads WebAssembly, and its style sheet by onload="this.media='all'".
    (
        DEV_UI,
        f"{_OWN}'wasm-unsafe-eval' 'unsafe-hashes' "
        "'sha256-MhtPZXr7+LpJUY5qtMutB+qWfQtMaPccfe7QXtCcEYc='",
    ),
    # FastAPI writes the call that starts these pages into them; they show our own schema alone.
    ("/docs", f"{_OWN}'unsafe-inline'"),
    ("/redoc", f"{_OWN}'unsafe-inline'"),
)
_DATA: Final = "default-src 'none'; frame-ancestors 'none'"
_PRECONNECT: Final = r'<link rel="preconnect"[^>]*>'


def policy_of(path: str) -> str:
    """The Content-Security-Policy of a path whose route sets none; data may load nothing."""
    return next((policy for start, policy in _POLICIES if path.startswith(start)), _DATA)


async def dev_ui() -> HTMLResponse:
    """ADK's page without its connections to a host of fonts, which no policy stops."""
    page = (files("google.adk.cli") / "browser" / "index.html").read_text(encoding="utf-8")
    return HTMLResponse(re.sub(_PRECONNECT, "", page), headers={"Cache-Control": "no-cache"})
