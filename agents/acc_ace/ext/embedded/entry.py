"""What the embedded engine offers: a model that needs no key and no network."""

import re
from typing import Final

from acc_ace.config import Settings
from acc_ace.ext.embedded.model import EmbeddedLlm
from acc_ace.ext.embedded.phrases import NOTE


class EmbeddedEntry:
    """The hook `models`."""

    def build(self, name: str, settings: Settings | None = None) -> EmbeddedLlm | None:
        """The model of that name, or None."""
        patterns = EmbeddedLlm.supported_models()
        is_own = any(re.fullmatch(pattern, name) for pattern in patterns)
        return EmbeddedLlm(model=name) if is_own else None

    def says_label(self, answer: str) -> bool:
        """Whether an answer ends with its label, as the first ones of a session do."""
        return answer.rstrip().endswith(tuple(NOTE.values()))


ENTRY: Final = EmbeddedEntry()
