"""Where a run notes how far it has come: a small file in the data directory, whole at any time."""

import os
from pathlib import Path

from pydantic import ValidationError

from acc_ace.errors import CorruptStoreError, StoreError
from acc_ace.schemas.learning_job import RunState

_FOLDER = "learning"


class RunFile:
    """The state of one run."""

    def __init__(self, data_dir: Path, run: str) -> None:
        self.path = data_dir / _FOLDER / f"{run}.json"

    def load(self) -> RunState | None:
        """The state, or None when the run never began.

        Raises StoreError, or CorruptStoreError for what is no state.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path} cannot be read: {error}") from error
        try:
            return RunState.model_validate_json(text)
        except ValidationError as error:
            raise CorruptStoreError(
                f"{self.path} is no state of a run; delete it to begin anew: {error}"
            ) from error

    def save(self, state: RunState) -> None:
        """Replace the state; a reader, or a crash, sees the old or the new. Raises StoreError."""
        temporary = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as file:
                file.write(state.model_dump_json())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror}") from error

    def delete(self) -> None:
        """Forget the run. Raises StoreError."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be deleted: {error.strerror}") from error
