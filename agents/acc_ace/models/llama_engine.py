"""llama.cpp in this process, through the optional package xllamacpp.

One engine a model file and process. It owns one thread: the model is loaded there at the first
reply, and replies are made there one after the other, first come first served.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from acc_ace.errors import ConfigError, ModelOutputError
from acc_ace.models.chat_request import Json

INSTALL = 'pip install "acc-ace[llama-cpp]"'

_QUIET = -1
"""llama.cpp's verbosity that prints nothing but what is fatal."""


@dataclass(frozen=True)
class EngineOptions:
    """How llama.cpp runs a model."""

    context_tokens: int = 8_192
    """Prompt and reply together."""
    threads: int = 0
    """0 = as many as the machine has cores."""
    batch: int = 2_048
    """Tokens of a prompt that are read at once."""
    cache_mb: int = 1_024
    """Memory for the beginnings of prompts that were read before."""
    chat_template: str = ""
    """In place of the file's own: 'chatml', or a Jinja template."""


Chunk = Json | list[Json]
"""What llama.cpp calls back with: one chunk, or several."""


class ChatServer(Protocol):
    """The part of `xllamacpp.Server` that is used."""

    def handle_chat_completions(self, body: Json, on_chunk: Callable[[Chunk], bool], /) -> object:
        """Run one streamed completion, bound to `json_schema` of the body if it has one.

        `on_chunk` returns True to stop it.
        """
        ...


class LlamaEngine:
    """Makes replies of one model, one at a time, off the event loop."""

    def __init__(self, load: Callable[[], ChatServer]) -> None:
        self._load = load
        self._server: ChatServer | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llama-cpp")

    @asynccontextmanager
    async def reply(self, bodies: Sequence[Json]) -> AsyncIterator["EngineReply"]:
        """One reply, of a completion for each body; entered when the replies before it are made.

        One that is left while it waits has not started, one that is left later stops; the next one
        starts when the thread has really stopped.
        """
        reply = EngineReply(asyncio.get_running_loop())
        self._thread.submit(self._make, reply, bodies)
        try:
            await reply.started()
            yield reply
        finally:
            reply.stopped.set()

    def close(self) -> None:
        """Free the model and end the thread."""
        self._thread.submit(self._unload).result()
        self._thread.shutdown()

    def _make(self, reply: "EngineReply", bodies: Sequence[Json]) -> None:
        """In the thread: load if need be, complete, and hand over whatever went wrong."""
        if reply.stopped.is_set():
            return
        reply.begin()
        try:
            self._server = self._server or self._load()
            for body in bodies:
                if reply.stopped.is_set():
                    return
                self._server.handle_chat_completions({**body, "stream": True}, reply.on_chunk)
                reply.put(None)
        except RuntimeError as error:
            reply.put(ModelOutputError(f"llama.cpp could not read what the model wrote: {error}"))
        except Exception as error:  # noqa: BLE001 - it is raised again on the event loop
            reply.put(error)

    def _unload(self) -> None:
        self._server = None


class EngineReply:
    """The way of a reply from the thread that makes it to the event loop that waits for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.stopped = threading.Event()
        """Set when the caller has left."""
        self._loop = loop
        self._begun = asyncio.Event()
        self._items: asyncio.Queue[Json | Exception | None] = asyncio.Queue()

    async def started(self) -> None:
        """Wait until the thread makes this reply."""
        await self._begun.wait()

    async def chunks(self) -> AsyncIterator[Json]:
        """The chunks of the next completion as they come.

        Raises ConfigError when the model cannot be loaded, and ModelOutputError when its output
        cannot be parsed.
        """
        while (item := await self._items.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    def begin(self) -> None:
        """In the thread: let the event loop know."""
        self._loop.call_soon_threadsafe(self._begun.set)

    def on_chunk(self, chunk: Chunk) -> bool:
        """In the thread: hand over what llama.cpp calls back with; True to stop it."""
        for item in chunk if isinstance(chunk, list) else [chunk]:
            self.put(item)
        return self.stopped.is_set()

    def put(self, item: Json | Exception | None) -> None:
        """In the thread: hand over a chunk, an error, or None at the end of a completion."""
        if not self.stopped.is_set():
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)


@lru_cache(maxsize=8)
def engine_of(path: Path, options: EngineOptions) -> LlamaEngine:
    """The engine of a model file, one a process. Nothing is loaded yet."""
    return LlamaEngine(lambda: load_server(path, options))


def load_server(
    path: Path, options: EngineOptions, *, installed: Callable[[str], object] = find_spec
) -> ChatServer:
    """Load a model file.

    Raises ConfigError when xllamacpp is not installed, or the file is not there or no model.
    """
    if installed("xllamacpp") is None:
        raise ConfigError(f"llama-cpp models need an extra: {INSTALL}")
    if not path.is_file():
        raise ConfigError(f"llama-cpp model {path} does not exist; give the path of a .gguf file")
    if not options.chat_template and not has_chat_template(path):
        raise ConfigError(
            f"llama-cpp model {path} holds no chat template, so how it is spoken to is unknown: "
            "use an instruct or chat model, or set ACC_ACE_LLAMA_CPP_CHAT_TEMPLATE to 'chatml' or "
            "to a Jinja template"
        )
    # By name, since it is optional and loads native code.
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = options.context_tokens
    params.n_batch = options.batch
    params.cache_ram_mib = options.cache_mb
    params.chat_template = options.chat_template
    if options.threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = _QUIET
    # xllamacpp also serves on a loopback port; an unguessable key keeps others out.
    params.ui = False
    params.api_keys = [secrets.token_urlsafe(32)]
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise ConfigError(f"llama.cpp cannot load {path}: {error}") from error
    return _GrammarServer(server, xllamacpp.json_schema_to_grammar)


_METADATA_BYTES = 64 * 1024 * 1024
"""Bytes of a GGUF file in which its metadata is looked for; vocabularies take some ten million."""

_TEMPLATE_KEY = b"tokenizer.chat_template"


def has_chat_template(path: Path) -> bool:
    """Whether a GGUF file says how its model is spoken to; True for a file that is no GGUF."""
    with path.open("rb") as file:
        metadata = file.read(_METADATA_BYTES)
    # A key has its length before it, in eight bytes, so no longer key and no text is taken for it.
    key = len(_TEMPLATE_KEY).to_bytes(8, "little") + _TEMPLATE_KEY
    return not metadata.startswith(b"GGUF") or key in metadata


class _GrammarServer:
    """Turns `json_schema` of a body into a grammar.

    With a grammar llama.cpp hands the text through as it is; with its own `response_format` it
    parses the text again, and a reply that was cut off, or holds broken UTF-8, becomes an error.
    """

    def __init__(self, server: ChatServer, to_grammar: Callable[[str], str]) -> None:
        self._server = server
        self._to_grammar = to_grammar

    def handle_chat_completions(self, body: Json, on_chunk: Callable[[Chunk], bool], /) -> object:
        schema = body.get("json_schema")
        if schema is not None:
            rest = {key: value for key, value in body.items() if key != "json_schema"}
            # A small model may otherwise fill its whole budget with blanks between the fields.
            compact = {**schema, "x-guidance": {"whitespace_flexible": False}}
            body = {**rest, "grammar": self._to_grammar(json.dumps(compact))}
        return self._server.handle_chat_completions(body, on_chunk)
