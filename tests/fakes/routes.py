"""The routes of a server as it serves them, so that a test over all of them forgets none."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Served(NamedTuple):
    """A method and the path it is asked at, with its parameters in braces."""

    method: str
    path: str

    def at(self, values: Mapping[str, str]) -> str:
        """The path with values for its parameters; raises KeyError for one without."""
        return re.sub(r"\{(\w+)(?::path)?\}", lambda found: values[found[1]], self.path)


def served_routes(app: FastAPI) -> Iterator[Served]:
    """Every route over HTTP; a folder of files is one of them, a WebSocket is none."""
    for route in iter_route_contexts(app.router.routes):
        methods = route.methods
        if methods is None and route.path_format is not None:  # a mounted folder
            yield Served("GET", route.path_format)
        for method in sorted(methods or ()):
            yield Served(method, route.path or "")
