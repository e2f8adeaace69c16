"""Nothing personal of one user reaches another user's prompt through the app's playbook."""

import unicodedata
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.playbook.curation.delta_guard import CurationContext, curate
from acc_ace.core.playbook.sharing_gate import generalise
from acc_ace.core.text.redaction import find_sensitive
from schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from schemas.limits import Limits
from schemas.playbook import Playbook

given_names = st.sampled_from(
    ["Aiko", "Mariko", "Bjørn", "Zoë", "O'Neill", "Jean-Luc", "田中", "佐藤花子"]
)
family_names = st.sampled_from(["Tanaka", "Kowalski", "Nguyen", "Østergård", "鈴木", "Müller"])
mailboxes = st.from_regex(r"[a-z]{3,8}\.[a-z]{3,8}@[a-z]{3,8}\.(com|jp)", fullmatch=True)
keys = st.from_regex(r"sk-[a-z]{2}[A-Z0-9]{24}", fullmatch=True)
words = st.sampled_from(
    [
        "ask",
        "before a refund",
        "never",
        "mail",
        "use the key",
        "を確認する",
        "し、",
        "'s order,",
        "(",
        "「",
    ]
)


@st.composite
def disguised(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text as it is, in capitals, full-width, or with zero-width characters in it."""
    text = draw(texts)
    width = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)
    hidden = "\u200b".join(text)
    return draw(st.sampled_from([text, text, text.upper(), text.title(), width, hidden]))


@st.composite
def lessons_about(draw: st.DrawFn, person: str, mail: str, key: str) -> str:
    """A lesson that names somebody in some way."""
    named = st.sampled_from([person, *person.split(), f"{person}さん", mail, key])
    parts = st.one_of(words, disguised(named), disguised(named))
    return " ".join(draw(st.lists(parts, min_size=1, max_size=6)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@given(st.data(), given_names, family_names, mailboxes, keys)
def test_no_word_of_a_name_no_mail_and_no_key_reaches_the_rendered_playbook(
    data: st.DataObject, first: str, last: str, mail: str, key: str
) -> None:
    person = f"{first} {last}"
    lessons = st.lists(lessons_about(person, mail, key), min_size=1, max_size=4)
    context = CurationContext(
        limits=Limits(),
        at=datetime(2026, 1, 2, tzinfo=UTC),
        user="u-1",
        session="s",
        turn=1,
        grounded=True,
        shared=True,
        entities=(f"person:{person}",),
    )
    operations = [
        DeltaOperation(type=DeltaType.ADD, content=content, section=section)
        for content, section in zip(data.draw(lessons), data.draw(lessons), strict=False)
    ]

    curated = curate(Playbook(), DeltaBatch(operations=operations), context)

    prompt = _folded(curated.playbook.as_prompt())
    for token in (first, last, mail):
        assert _folded(token) not in prompt
    # In other letters it is no key.
    assert key not in unicodedata.normalize("NFKC", curated.playbook.as_prompt())
    assert not find_sensitive(curated.playbook.as_prompt())
    for record in curated.records:
        if record.proposed is not None:
            assert _folded(mail) not in _folded(record.proposed)
            assert key not in unicodedata.normalize("NFKC", record.proposed)


@given(st.text(max_size=80), given_names)
def test_the_gate_is_idempotent_and_leaves_what_is_not_personal(text: str, name: str) -> None:
    once = generalise(text, (f"person:{name}",))

    if not once.stopped:
        again = generalise(once.text, (f"person:{name}",))
        assert again.text == once.text
        assert not again.changed
