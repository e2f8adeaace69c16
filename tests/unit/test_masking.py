"""Secrets that are masked for good, words that are not, and how long it takes."""

import time

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from acc_ace.adk.sessions.masked_event import masked_event
from acc_ace.core.text.redaction import mask_secrets

KEY = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

WORDS = (
    "Every reply must contain the token: ALPHA-7.",
    "token = self.get_token()",
    "secret = load_secret_of_user2()",
    "def login(user: str, password: str)",
    "{ password: string; name: string2 }",
    "CONSTRAINT pk_customer_order_items_2024",
    "secret is well-known",
    "forgot password: https://example.com/reset1?x=2",
    "max_token: 100000",
    "password=$DB_PASSWORD_V2",
    "パスワード：変更してください",
    "パスワードは2024年4月に変更しました",
    "トークンは1,000個まで",
    "9b0a7a8feea0d199d938b5c7dbedb1b0c3353225",
    "01a22a50-ba08-7fd8-b7f2-a9b49ae2c8a2",
)
SECRETS = (
    "my password is hunter2x!",
    "パスワードはhunter2xyです。",
    '{"password": "hunter2x!"}',
    '"api_key": "abcd1234efgh5678"',
    "キーは sk-abcdefghijklmnop1234です",
    "postgres://acc:pw123@db/acc",
    "Authorization: Bearer abcdef1234567890abcd",
    "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.abc",
)
LONG = ("token:", "token:xxx1,", "eyJ-", "password is ", "sk-", "a://", "bearer ")


@pytest.mark.parametrize("text", WORDS)
def test_ordinary_words_and_code_stay_as_they_are(text: str) -> None:
    assert mask_secrets(text) == text


@pytest.mark.parametrize("text", SECRETS)
def test_what_is_a_secret_is_masked_once(text: str) -> None:
    masked = mask_secrets(text)
    assert "[secret masked: " in masked
    assert mask_secrets(masked) == masked


@pytest.mark.parametrize("piece", LONG)
def test_a_long_text_is_read_once(piece: str) -> None:
    started = time.process_time()
    mask_secrets(piece * (400_000 // len(piece)))
    assert time.process_time() - started < 5.0


def test_of_an_event_all_but_the_arguments_of_calls_is_masked() -> None:
    part = types.Part
    parts = [
        part(text=f"I use {KEY}."),
        part(function_response=types.FunctionResponse(name="t", response={"a": [{"b": KEY}]})),
        part(inline_data=types.Blob(mime_type="text/plain", data=KEY.encode())),
        part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG")),
    ]
    event = Event(
        author="a",
        content=types.Content(role="model", parts=parts),
        actions=EventActions(state_delta={"draft": KEY}),
    )
    before = event.model_dump_json()
    masked = masked_event(event)
    assert event.model_dump_json() == before
    assert KEY not in masked.model_dump_json()
    assert masked.content is not None
    [_, _, file, _] = masked.content.parts or []
    assert file.inline_data is not None
    assert file.inline_data.data == b"[secret masked: github token]"
    call = types.Part(function_call=types.FunctionCall(name="t", args={"key": KEY}))
    waiting = Event(author="a", content=types.Content(role="model", parts=[call]))
    assert KEY in masked_event(waiting).model_dump_json()
