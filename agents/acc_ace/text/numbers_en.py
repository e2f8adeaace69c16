"""English number words."""

from collections.abc import Mapping
from typing import Final

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"

NUMBER_WORDS: Final[Mapping[str, int]] = {word: value for value, word in enumerate(_WORDS.split())}
"""Each word from zero to twelve with its value."""
