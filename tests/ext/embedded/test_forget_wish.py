"""The key-free engine knows common wordings of the wish to have something forgotten."""

import pytest

from acc_ace.ext.embedded.forget_wish import forget_wish

WISHES = [
    ("Please forget my salary.", "my salary"),
    ("Forget what I told you about my salary.", "my salary"),
    ("Delete my salary from your memory.", "my salary"),
    ("Don't remember my salary any more.", "my salary"),
    ("Could you please forget everything I said about my salary?", "my salary"),
    ("Erase my salary from memory, please.", "my salary"),
    ("私の給料のことは忘れてください。", "私の給料"),
    ("給料のことは忘れて", "給料"),
    ("給料の話はもう忘れてください", "給料"),
    ("私の給料を記憶から消してください。", "私の給料"),
]
OTHERS = [
    "Don't forget my salary.",
    "Please forget it.",
    "Forget to lock the door and the alarm starts.",
    "I forgot my salary.",
    "Delete the log files of db-01.",
    "Remove c-0001.",
    "給料を忘れないでください。",
    "傘を忘れてしまいました。",
]


@pytest.mark.parametrize(("text", "what"), WISHES)
def test_a_wish_to_forget_names_what(text: str, what: str) -> None:
    assert forget_wish(text) == what


@pytest.mark.parametrize("text", OTHERS)
def test_other_words_about_forgetting_are_no_such_wish(text: str) -> None:
    assert forget_wish(text) is None
