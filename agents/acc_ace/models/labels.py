"""How the answers of a model must be labelled."""

from acc_ace.config import EMBEDDED_MODEL
from acc_ace.rules_model.phrases import NOTE

EMBEDDED_NOTE = "extractive, not an LLM"
"""The label of whatever the embedded model says."""


def note_on(model: str) -> str:
    """The label of a model's answers; '' for language models."""
    return EMBEDDED_NOTE if model == EMBEDDED_MODEL else ""


def says_label(answer: str) -> bool:
    """Whether an answer of the embedded model ends with its label, as the first ones do."""
    return answer.rstrip().endswith(tuple(NOTE.values()))
