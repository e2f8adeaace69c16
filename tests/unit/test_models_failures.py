"""Where errors of client libraries keep their status and the wait they ask for."""

import httpx
import pytest
from google.genai.errors import ClientError

from acc_ace.errors import ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.failures import failure_of, retry_after_s, status_of
from tests.fakes.tables import each_case


def http_error(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://127.0.0.1/")
    response = httpx.Response(status, headers=headers, request=request)
    return httpx.HTTPStatusError("scripted", request=request, response=response)


class SdkError(Exception):
    """As OpenAI's, Anthropic's and LiteLLM's SDKs word it."""

    def __init__(self, status_code: int) -> None:
        super().__init__("scripted")
        self.status_code = status_code


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("build", [http_error, SdkError])
def test_transient_statuses_are_retriable_whoever_reports_them(build: type, status: int) -> None:
    error = build(status)
    failure = failure_of(error, model="m", role="curator")
    assert status_of(error) == status
    assert isinstance(failure.error, ModelUnavailable)
    assert failure.retriable


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_other_client_errors_are_refusals(status: int) -> None:
    failure = failure_of(http_error(status), model="m", role="curator")
    assert isinstance(failure.error, ModelRefused)
    assert not failure.retriable


@pytest.mark.parametrize(
    "error",
    [TimeoutError(), ConnectionResetError(), httpx.ReadTimeout("x"), httpx.ConnectError("")],
)
def test_network_failures_are_retriable(error: Exception) -> None:
    assert failure_of(error, model="m", role="curator").retriable


def test_what_cannot_be_read_is_an_output_error_and_bounded() -> None:
    failure = failure_of(ValueError("x" * 10_000), model="m", role="curator")
    assert isinstance(failure.error, ModelOutputError)
    assert len(str(failure.error)) < 500


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "0"}, 0.0),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            30.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_from_the_header(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(http_error(429, **headers)) == seconds


@pytest.mark.parametrize("details", [None, "junk", [], {"details": 5}, {"details": [{}]}])
def test_google_error_without_a_delay_asks_for_no_wait(details: object) -> None:
    assert retry_after_s(ClientError(429, {"error": {"code": 429, "details": details}})) is None


@each_case
def test_an_error_tells_no_key_that_a_server_echoes(text: str) -> None:
    for error in (httpx.ConnectError(text), ClientError(401, {"error": {"message": text}})):
        reported = str(failure_of(error, model="m", role="generator").error)
        assert "[redacted: " in reported
        assert "abcdefghijklmnop" not in reported
        assert "hunter22" not in reported
