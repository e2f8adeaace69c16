"""The gate between one user's turn and a playbook shared with other users.

A lesson passes unchanged, passes generalised ("Ask Aiko for the order" becomes "Ask a person for
the order"), or is held for review. Personal data are: the names in the user's state (people,
companies, accounts, tickets, machines and the like, including each word of a person's name), the
user's id, e-mail addresses and phone numbers. Card numbers, credentials, and disguised personal
data (full-width, with zero-width characters) hold a lesson. A single Latin letter is not treated
as a name. A single kanji is matched only with a title, as are the family and the given name
within a name in kanji that has no space between them.

Names that the state does not contain pass: the gate does no named-entity recognition.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from acc_ace.core.text.lexicon_en import STOP_WORDS
from acc_ace.core.text.normalize import language_of, skeleton
from acc_ace.core.text.redaction import FindingKind, find_sensitive

MOST_NAMES = 256
"""Maximum names matched; a state has far fewer."""

_GENERIC_USERS: Final = frozenset(
    ("user", "users", "me", "default", "local", "anonymous", "guest", "test", "admin", "agent")
)
"""User ids that identify no one."""

_PEOPLE: Final = frozenset(
    (
        *("person", "people", "user", "customer", "client", "contact", "employee", "patient"),
        *(
            "name",
            "人",
            "人物",
            "氏名",
            "名前",
            "利用者",
            "ユーザー",
            "顧客",
            "担当者",
            "社員",
            "患者",
        ),
    )
)
_PRIVATE: Final = _PEOPLE | {
    *("company", "organization", "organisation", "org", "team", "contract", "invoice", "order"),
    *("address", "location", "email", "e-mail", "phone", "account", "ticket", "id"),
    *("ip", "url", "file", "path", "host", "hostname", "server"),
    *("会社", "企業", "取引先", "組織", "部署", "チーム", "契約", "請求書", "注文", "住所", "場所"),
    *("メール", "電話", "アカウント", "チケット", "サーバー", "ホスト", "ファイル"),
}
"""Kinds of entity whose names are always private."""

_PUBLIC: Final = frozenset(
    (
        *(
            "tool",
            "concept",
            "topic",
            "error",
            "version",
            "language",
            "command",
            "option",
            "method",
        ),
        *("metric", "unit", "currency", "number", "amount", "money", "percent", "duration"),
        *("timezone", "date", "time", "day", "event", "task", "status", "role", "feature", "field"),
        *("technology", "framework", "library", "package", "protocol", "standard"),
    )
)
"""Kinds of entity whose names are public."""

_WORDS_EN: Final = {
    "user": "the user",
    "email": "an e-mail address",
    "e-mail": "an e-mail address",
    "phone": "a phone number",
    "phone number": "a phone number",
    "url": "a link",
    "ip": "an address",
    "org": "an organisation",
}
_WORDS_JA: Final = {
    **dict.fromkeys(_PEOPLE, "ある人"),
    "user": "利用者",
    "customer": "顧客",
    "client": "顧客",
    "company": "ある会社",
    "organization": "ある組織",
    "team": "あるチーム",
    "email": "メールアドレス",
    "e-mail": "メールアドレス",
    "phone": "電話番号",
    "phone number": "電話番号",
    "server": "あるサーバー",
    "host": "あるサーバー",
    "file": "あるファイル",
    "url": "あるリンク",
    "ticket": "あるチケット",
    "order": "ある注文",
    "service": "あるサービス",
}
_KIND = re.compile(r"[a-z][a-z-]{1,19}( [a-z]{2,12})?")
_PARTICULAR = re.compile(r"[\d@/_.#-]|^[A-Z][a-z]+$")
_TITLE = r"(?:さん|様|氏|先生|くん|君|ちゃん|殿)"
_TRAILING_TITLE = re.compile(_TITLE + "$")
_PARTS = re.compile(r"[\s・／/,.、()（）'\"]+")
_LATIN = re.compile(r"[\x00-\u024f]+")
_KANJI = r"[\u3400-\u9fff々]"
_KANJI_NAME = re.compile(_KANJI + r"{1,8}")


class Generalised(NamedTuple):
    """A text after the gate."""

    text: str
    """The text with personal data generalised."""
    changed: bool
    stopped: bool
    """Whether personal data may remain, so that the text must not be shared."""


class _Name(NamedTuple):
    kind: str
    literal: str
    pattern: re.Pattern[str]

    def found(self, text: str) -> list[re.Match[str]]:
        """Matches of the name, without lower-case stop words such as 'will'."""
        return [match for match in self.pattern.finditer(text) if match[0] not in STOP_WORDS]

    def replaced(self, text: str, general: str) -> str:
        """The text with the name replaced by general words."""
        return self.pattern.sub(lambda match: match[0] if match[0] in STOP_WORDS else general, text)

    def is_doubtful(self, text: str) -> bool:
        """Whether the text has it in lower case, where it may be a plain word or a name."""
        plain = self.literal.lower()
        return (
            self.literal != plain
            and self.literal.isalpha()
            and any(match[0] == plain for match in self.found(text))
        )


def generalise(text: str, entities: Iterable[str], *, user: str = "") -> Generalised:
    """Generalise a one-line text for sharing with other users.

    `entities` are typed names of the user's state ('person:Aiko Tanaka', 'server:db-01', or a
    name alone); `user` is the id of the user.
    """
    japanese = language_of(text) == "ja"
    names = _names(tuple(entities)[:MOST_NAMES], user)
    shared = _without_details(text, japanese=japanese)
    doubtful = False
    for name in names:
        doubtful = doubtful or name.is_doubtful(shared)
        shared = name.replaced(shared, _general(name.kind, japanese=japanese))
    stopped = doubtful or _still_personal(shared, names)
    return Generalised(shared, changed=shared != text, stopped=stopped)


def mask_names(text: str, entities: Iterable[str], *, user: str = "") -> str:
    """Replace every name by '[redacted: name]', for the log."""
    names = _names(tuple(entities)[:MOST_NAMES], user)
    seen = skeleton(text)
    if any(name.found(seen) and not name.found(text) for name in names):
        # A name is disguised: log the text as a reader would see it.
        text = seen
    for name in names:
        text = name.replaced(text, "[redacted: name]")
    return text


def _without_details(text: str, *, japanese: bool) -> str:
    """The text with e-mail addresses and phone numbers generalised."""
    parts: list[str] = []
    at = 0
    for finding in find_sensitive(text):
        if finding.kind is FindingKind.PII and finding.label in _WORDS_EN:
            parts += [text[at : finding.start], _general(finding.label, japanese=japanese)]
            at = finding.end
    return "".join([*parts, text[at:]])


def _general(kind: str, *, japanese: bool) -> str:
    """General words for an entity of a kind."""
    if japanese:
        return _WORDS_JA.get(kind, "ある対象")
    if kind in _WORDS_EN:
        return _WORDS_EN[kind]
    if _KIND.fullmatch(kind) is None:
        return "something"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _still_personal(text: str, names: tuple[_Name, ...]) -> bool:
    seen = skeleton(text)
    details = [item for item in find_sensitive(seen) if item.kind is FindingKind.PII]
    folded = unicodedata.normalize("NFKC", text)
    return bool(details) or any(name.found(form) for name in names for form in (seen, folded))


@lru_cache(maxsize=64)
def _names(entities: tuple[str, ...], user: str) -> tuple[_Name, ...]:
    """The names to match, longest first, so that a whole name precedes its parts."""
    names: dict[str, str] = {}
    if len(user) > 2 and user.lower() not in _GENERIC_USERS:
        names[user] = "user"
    for entity in entities:
        for literal, kind in _literals(entity):
            names.setdefault(literal, kind)
    longest_first = sorted(names.items(), key=lambda item: (-len(item[0]), item[0]))
    whole = (_Name(kind, literal, _pattern(literal)) for literal, kind in longest_first)
    return (*whole, *filter(None, map(_by_title, entities)))


def _kind_and_name(entity: str) -> tuple[str, str]:
    kind, colon, name = entity.partition(":")
    kind, name = (kind.strip().lower(), name) if colon else ("", entity)
    return kind, unicodedata.normalize("NFKC", name).strip()


def _by_title(entity: str) -> _Name | None:
    """Parts of a person's name in kanji with a title: 'person:田中愛子' matches 「田中さん」."""
    kind, name = _kind_and_name(entity)
    bare = _TRAILING_TITLE.sub("", name)
    if kind not in _PEOPLE or _KANJI_NAME.fullmatch(bare) is None:
        return None
    cuts = range(2, len(bare))
    parts = {*(bare[:at] for at in cuts), *(bare[at:] for at in range(1, len(bare) - 1)), bare}
    body = "|".join(sorted(parts - {bare[0]}, key=lambda part: (-len(part), part)))
    # A single kanji after another one is part of another name: 「林さん」 in 「小林さん」.
    first = rf"(?<!{_KANJI}){bare[0]}"
    pattern = f"(?:{body}|{first})" if body else first
    return _Name(kind, bare, re.compile(pattern + _TITLE))


def _literals(entity: str) -> Iterator[tuple[str, str]]:
    """The texts that identify an entity, each with its kind."""
    kind, name = _kind_and_name(entity)
    if kind in _PUBLIC or not name:
        return
    if kind in _PEOPLE:
        yield from ((part, kind) for part in _parts_of_person(name))
    elif len(name) > 1 and (kind in _PRIVATE or _PARTICULAR.search(name)):
        yield name, kind or "thing"


def _parts_of_person(name: str) -> Iterator[str]:
    bare = _TRAILING_TITLE.sub("", name)
    for part in dict.fromkeys((name, bare, *_PARTS.split(bare))):
        if len(part) > 1:
            yield part
            if _LATIN.fullmatch(part) is not None:
                yield _unaccented(part)


def _unaccented(text: str) -> str:
    """'Jose' for 'José'; only for Latin, as a mark makes a different letter in kana."""
    parts = unicodedata.normalize("NFD", text)
    return "".join(char for char in parts if not unicodedata.combining(char))


def _pattern(literal: str) -> re.Pattern[str]:
    """The literal as a whole word; anywhere for Japanese, which has no spaces."""
    latin = _LATIN.fullmatch(literal) is not None
    body = re.escape(literal).replace(r"\ ", r"\s+" if latin else r"\s*")
    if not latin:
        return re.compile(rf"{body}{_TITLE}?", re.IGNORECASE)
    return re.compile(rf"(?<![A-Za-z0-9]){body}{_TITLE}?(?![A-Za-z0-9])", re.IGNORECASE)
