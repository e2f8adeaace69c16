"""Check models and keys. Keys are only reported as present or absent, never printed."""

import asyncio
from collections.abc import Iterator

from acc_ace.cli.checks.installation import CheckResult, note, ok, problem
from acc_ace.config import EMBEDDED_MODEL, ROLES, Role, Settings, block_name, google_credentials
from acc_ace.core.text.redaction import redact
from acc_ace.errors import ConfigError
from acc_ace.hooks import EMBEDDERS, ENDPOINTS, GUARD, is_offered, only
from acc_ace.models.factory import describe
from acc_ace.models.gemini import reach_gemini
from acc_ace.models.names import Kind, has_judge, kind_of, note_on

_ANSWER_S, _PROBE_S = 10.0, 300.0
"""Seconds for test requests to Gemini, and to an endpoint that may load its model first."""

_TOOL_FORMS = {
    "written": "calls no tool by itself: tools are told in words, a call is JSON of a schema",
    "native": "calls a tool, but not beside a JSON schema: never sent both",
    "with_schema": "calls a tool, also beside a JSON schema",
}


def check_keys(settings: Settings) -> Iterator[CheckResult]:
    """Report which credentials are set."""
    google = google_credentials()
    if google is None:
        yield note(
            "google_key",
            f"absent: agents whose model is 'auto' use {EMBEDDED_MODEL}, which is not an LLM",
            "set GOOGLE_API_KEY to use Gemini",
        )
    else:
        yield ok("google_key", f"present ({google})")
    present = settings.openai_api_key is not None
    yield ok("openai_key", "present" if present else "absent (needed by some 'openai/…' endpoints)")


def check_models(settings: Settings) -> Iterator[CheckResult]:
    """Whether each agent's model and fallback are known and usable."""
    for role in _roles(settings):
        yield _check_model(role, settings)
        fallback = settings.agent(role).fallback
        if fallback:
            setting = f"ACC_ACE_{block_name(role).upper()}__FALLBACK"
            yield _check_name(f"{role} fallback", setting, fallback, settings)


def check_guard(settings: Settings) -> CheckResult:
    """What happens to a tool call that breaks a rule, and who finds it."""
    mode = settings.guard
    if mode == "off":
        detail = "off: tool calls are not checked against the rules"
        return note("guard mode", detail, "set ACC_ACE_GUARD=confirm to enforce rules at the act")
    if not is_offered(GUARD):
        detail = "missing: tool calls are not checked against the rules"
        return problem("guard mode", detail, "install the extension 'guard', or set it to off")
    name = settings.model_name("guard" if settings.guard_model.model else "compressor")
    judge = "alone" if note_on(name) else f"and {name}"
    return ok("guard mode", f"{mode}, by the deterministic check {judge}")


def _roles(settings: Settings) -> tuple[Role, ...]:
    """The agents that have a model."""
    return (*ROLES, "guard") if has_judge(settings) else ROLES


def check_embedder(settings: Settings) -> CheckResult:
    """Whether the embedder is known and usable; nothing is loaded or contacted."""
    name = settings.embedder.model
    if not name:
        return ok("embedder", "none: recall is lexical only")
    try:
        semantic = only(EMBEDDERS, "ACC_ACE_EMBEDDER__MODEL")
        semantic.build_embedder(settings)
    except ConfigError as error:
        return problem("embedder", str(error), "fix it, or unset ACC_ACE_EMBEDDER__MODEL")
    url = settings.embedder.base_url or settings.openai_base_url
    where = {
        "local": "runs in this process",
        "gemini": "through google-genai",
        "openai-compatible": f"at {redact(url)}",
    }
    return ok("embedder", f"{name} ({where[semantic.kind(name)]})")


def check_gemini_answers(settings: Settings) -> Iterator[CheckResult]:
    """Send a test request to each Gemini model in use; needs the network."""
    names = dict.fromkeys(settings.model_name(role) for role in _roles(settings))
    gemini = [name for name in names if _kind(name) == "gemini"]
    if not gemini:
        yield note("gemini", "no agent uses it")
    for name in gemini:
        yield _ask(name)


def check_tool_calls(settings: Settings) -> CheckResult:
    """Ask the Generator's OpenAI-compatible endpoint to call a tool; needs that endpoint."""
    name = settings.model_name("generator")
    if _kind(name) != "openai-compatible":
        return note("tools", "the generator's model is at no OpenAI-compatible endpoint")
    url, key, set_to = settings.openai_base_url, settings.openai_api_key, settings.openai_tools
    probe = only(ENDPOINTS, name).tool_form(name, base_url=url, api_key=key)
    try:
        form = asyncio.run(asyncio.wait_for(probe, _PROBE_S))
    except Exception as error:  # noqa: BLE001 — whatever the client raises is the finding
        reported = redact(f"{name} at {url} does not respond: {type(error).__name__} {error}")
        return problem("tools", reported[:500], "start it, or fix ACC_ACE_OPENAI_BASE_URL")
    can, order = f"{name} {_TOOL_FORMS[form]}", ("auto", *_TOOL_FORMS)
    if order.index(set_to) <= order.index(form):
        return ok("tools", can)
    return problem("tools", can, f"set ACC_ACE_OPENAI_TOOLS={form}")


def _check_model(role: Role, settings: Settings) -> CheckResult:
    setting = f"ACC_ACE_{block_name(role).upper()}__MODEL"
    name = settings.model_name(role)
    finding = _check_name(role, setting, name, settings)
    if finding.fix:
        return finding
    try:
        return ok(role, f"{name} ({describe(role, settings).note})")
    except ConfigError as error:
        return problem(role, str(error), "change that setting")


def _check_name(check: str, setting: str, name: str, settings: Settings) -> CheckResult:
    try:
        kind = kind_of(name)
    except ConfigError as error:
        return problem(check, str(error), f"change {setting}")
    if kind == "gemini" and google_credentials() is None:
        return problem(
            check,
            f"{name} needs Google credentials; none are set",
            f"set GOOGLE_API_KEY, or {setting}={EMBEDDED_MODEL}",
        )
    return ok(check, name)


def _kind(name: str) -> Kind | None:
    try:
        return kind_of(name)
    except ConfigError:
        return None  # Reported by check_models.


def _ask(name: str) -> CheckResult:
    try:
        reach_gemini(name, timeout_s=_ANSWER_S)
    except Exception as error:  # noqa: BLE001 — whatever the client raises is the finding
        # Only the error's type: some messages repeat the request, which contains the key.
        reported = f"{type(error).__name__} {getattr(error, 'code', '')}".strip()
        return problem(
            "gemini",
            f"{name} does not respond: {reported}",
            "check the key, the model's name and the network (proxy, firewall)",
        )
    return ok("gemini", f"{name} answers")
