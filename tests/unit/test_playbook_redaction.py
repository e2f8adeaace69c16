"""Secrets and personal data are found; ordinary technical text is left alone."""

import pytest

from acc_ace.core.text.redaction import SCANNED_CHARACTERS, FindingKind, find_sensitive, redact
from tests.fakes.tables import each_case

SECRETS = [
    ("google key", "AIza" + "Sy" + "a1B2" * 9),
    ("aws key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("api key", "sk-" + "proj-" + "Ab1" * 8),
    ("github token", "ghp_" + "a1B2" * 9),
    ("gitlab token", "glpat-" + "a1B2" * 5),
    ("slack token", "xoxb-" + "123456789012-abcdef"),
    ("jwt", "eyJ" + "hbGciOiJI.eyJ" + "zdWIiOiIx.c2lnbmF0dXJl"),
    ("bearer token", "Bearer " + "a1B2" * 6),
    ("url password", "postgres://app:pa55word@db.example/main"),
    ("password", "password: correcthorse"),
    ("password", "パスワードは abc12345"),
    ("password", "APIキー: abc12345"),
    ("password", "ACCESS-KEY = abc12345"),
    ("password", "Credentıals: abc12345"),
    ("password", "paſſphrase: correcthorse"),
    ("bearer token", "BEARER " + "a1B2" * 6),
    ("url password", "AMQP://app:pa55word@queue.example"),
    ("private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"),
]
PERSONAL = [
    ("e-mail", "aiko.tanaka+ops@mail.example.co.jp"),
    ("phone number", "+81 90 1234 5678"),
    ("phone number", "090-1234-5678"),
    ("phone number", "03-1234-5678"),
    ("phone number", "(555) 123-4567"),
    ("card number", "4111 1111 1111 1111"),
]


@pytest.mark.parametrize(("label", "text"), SECRETS)
def test_secrets_are_found_and_redacted(label: str, text: str) -> None:
    dirty = f"Use this one, {text} , in the console"

    assert FindingKind.SECRET in {finding.kind for finding in find_sensitive(dirty)}
    assert text not in redact(dirty)
    assert redact(dirty).endswith(" , in the console")
    assert label in redact(dirty)


@pytest.mark.parametrize(("label", "text"), PERSONAL)
def test_personal_data_is_found_and_redacted(label: str, text: str) -> None:
    dirty = f"連絡先は「{text}」です"

    assert redact(dirty) == f"連絡先は「[redacted: {label}]」です"


@pytest.mark.parametrize(("label", "text"), [*PERSONAL, *SECRETS[:7]])
def test_they_are_found_between_japanese_letters_where_no_word_ends(label: str, text: str) -> None:
    assert redact(f"連絡先は{text}を使う") == f"連絡先は[redacted: {label}]を使う"


@each_case
def test_addresses_in_other_letters_are_found(mail: str) -> None:
    assert redact(f"Mail {mail} first") == "Mail [redacted: e-mail] first"


@each_case
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert find_sensitive(text) == ()
    assert redact(text) == text


def test_redacted_text_has_nothing_left_to_redact() -> None:
    dirty = " / ".join(text for _, text in SECRETS + PERSONAL)

    assert find_sensitive(redact(dirty)) == ()


def test_findings_are_in_order_and_do_not_overlap() -> None:
    found = find_sensitive("password=sk-" + "a1B2" * 6 + " mail a@example.com")

    ends = [0, *(finding.end for finding in found)]
    assert all(finding.start >= end for finding, end in zip(found, ends, strict=False))


def test_what_was_not_scanned_is_not_written() -> None:
    text = "x " * SCANNED_CHARACTERS + "a@example.com"

    assert len(redact(text)) == SCANNED_CHARACTERS
