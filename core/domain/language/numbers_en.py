"""English number words."""

from collections.abc import Mapping
from typing import Final

NUMBER_WORDS: Final[Mapping[str, int]] = {
    word: value
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}
"""Each word from zero to twelve with its value."""
