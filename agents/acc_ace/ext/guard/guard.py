"""Hold a tool call against the rules in force, before it is made.

Deterministic, and only what it can show: numbers against limits, prohibited acts on named things,
what only some may have or be, and times. What it cannot decide it does not report; a rule is read
as a prohibition of an act, with the window of time in which it holds.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.polarity import negated
from acc_ace.ext.guard.act_limits import bounded, limit_of, span_of
from acc_ace.ext.guard.act_times import Window, day_named, minutes_of, moments, window_of
from acc_ace.ext.guard.act_words import ENVIRONMENTS, CallWords, Term, matches_any, terms_of


@dataclass(frozen=True)
class ActCall:
    """A tool call with what its tool is for."""

    name: str
    description: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


class Breach(NamedTuple):
    """A rule that a call would break, and why."""

    rule_id: str
    rule: str
    why: str


def conflicts(call: ActCall, pins: Iterable[ConstraintPin], at: datetime) -> list[Breach]:
    """The rules that a call would break; `at` is now, aware, in the user's zone."""
    act = CallWords(call.name, call.description, call.args)
    if act.rehearses:
        return []
    reasons = ((pin, _broken(pin.text, act, at)) for pin in pins)
    return [Breach(pin.id, pin.text, why) for pin, why in reasons if why]


_READ_ONLY: Final = lazy_pattern(r"\bread[- ]only\b|読み取り(?:だけ|のみ|専用)|閲覧(?:だけ|のみ)")
_LEFT_ALONE: Final = lazy_pattern(
    r"\bleave\b.*\balone\b|\boff[- ]limits\b|\bhands off\b|\buntouched\b"
)
_WITHOUT: Final = lazy_pattern(
    r"\b(?:without|unless|except)\b(?P<en>.*)$|(?P<ja>[^、をはに]+?)(?:なし|無し|抜き)(?:に|で)(?:は)?"
)
_FIRST: Final = lazy_pattern(
    r"^(?:always )?(?P<en>(?:ask|check with|consult|get|take|make|run|have)\b.*?)"
    r" (?:before|prior to) (?P<act>.*)$"
    r"|^(?P<act_ja>.+?)の?前に?は?、?(?:必ず|毎回)?(?P<ja>.+)$"
)
_INSTEAD: Final = lazy_pattern(r"(?P<ban>[^、。]+?)(?:では|じゃ)なく(?:て)?(?P<use>.*)$")
_CLAUSE: Final = lazy_pattern(
    r"[,;:]\s*\b(?=(?:never|not|no|don't|do not|must not|may not|cannot|can't)\b)"
)
_ONLY: Final = lazy_pattern(r"\bonly\b|だけ|のみ")
_RECEIVES: Final = lazy_pattern(
    r"^only (?P<who>.+?) (?:gets?|may|can|sees?|receives?|has|have|is|are)\b(?P<what>.*)$"
)
_RECEIVES_JA: Final = lazy_pattern(
    r"^(?P<what>.+?)(?:を|は).*?(?:いい|よい|良い|できる|渡す|教える|送る|見せる)のは(?P<who>.+?)(?:さん)?(?:だけ|のみ)"
)
_USE_ONLY: Final = lazy_pattern(
    r"^(?:please )?(?:use|buy from|order from|book|choose) only (?P<what>\w+) (?P<only>.+)$"
)
_ARE_ONLY: Final = lazy_pattern(r"^(?P<what>.+?) (?:are|is|go out as|stay) (?P<only>\w+) only\b")
_ONLY_OF: Final = lazy_pattern(r"^(?P<what>.+?)は(?P<only>.+?)(?:だけ|のみ)")
_EVERYTHING: Final = lazy_pattern(r"\b(?:anything|nothing|everything)\b|何も")
_CHANGE: Final = lazy_pattern(
    r"\b(?:touch|change|modify|alter|alone|off[- ]limits|run|anything|nothing|everything)\b"
    r"|触|変|いじ|何も|の(?:DB|データ)"
)
_ACTS: Final = "delete send call buy publish restart deploy write open disable pay approve push"
_RECIPIENTS: Final = (
    "to",
    "recipient",
    "recipients",
    "user",
    "callee",
    "person",
    "cc",
    "bcc",
    "email",
    "name",
    "宛先",
    "相手",
)


def _broken(rule: str, call: CallWords, at: datetime) -> str:
    """Why the call breaks the rule; '' when it does not, or nobody can say so from words."""
    window, text = window_of(rule, at)
    if window is not None and (why := _untimely(rule, text, window, call, at)) is not None:
        return why
    has_limit, why = _beyond(rule, text, call)
    if has_limit:
        return why
    return _only(text, call) or _forbidden(rule, text, call) or _left_out(text, call)


def _untimely(rule: str, text: str, window: Window, call: CallWords, at: datetime) -> str | None:
    """Why a call comes at the wrong time; None when the rest of the rule must be looked at."""
    if window.until is not None:
        late = any(minute > window.until for minute in minutes_of(call.args, at))
        about = _about(_terms(text), call)
        return "the time is later than the rule allows" if late and about else ""
    day = day_named(call.args)
    if window.days is not None and day:
        inside = bool(day & window.days)
    else:
        meant = moments(call.args, at)
        # "45 minutes on school days" sets a value for those days, not for today.
        sets = meant == [at] and window.hours is None and limit_of(text)[0] is not None
        inside = sets or all(map(window.holds, meant))
    if (_ONLY.search(text) or "に限" in text) and not negated(rule):
        rest = re.sub("の?間", " ", _ONLY.sub(" ", text))
        if not inside and not call.reads and _about(_terms(rest), call):
            return "it is outside of the time that the rule allows"
        return ""
    return None if inside else ""


def _beyond(rule: str, text: str, call: CallWords) -> tuple[bool, str]:
    """Whether the rule is a limit, and why the call is beyond it."""
    limit, rest = limit_of(text)
    if limit is None and (_ONLY.search(text) or re.search(r"\bbetween\b", text)):
        limit, rest = span_of(text)
    if limit is None:
        return False, ""
    terms = _terms(_ONLY.sub(" ", rest), rule)
    verdict = bounded(limit, call.args, terms)
    if call.reads or verdict is None or not limit.breaks(verdict[1]):
        return True, ""
    if terms and not any(call.has(term) for term in terms):
        return True, ""
    named = [term for term in terms if term.is_name or term.proper]
    if any(not call.has(term) for term in named):
        return True, ""
    return True, f"{verdict[0]} is {verdict[1]:g}, beyond the limit"


def _only(text: str, call: CallWords) -> str:
    """Why a call breaks a rule that names all who may, or all that is allowed."""
    if call.reads:
        return ""
    if match := _RECEIVES.match(text) or _RECEIVES_JA.match(text):
        return _goes_elsewhere(match["who"], match["what"], call)
    match = _USE_ONLY.match(text) or _ARE_ONLY.match(text) or _ONLY_OF.match(text)
    if match is None or _READ_ONLY.search(text) or span_of(text)[0]:
        return ""
    what, only = _terms(match["what"]), _terms(match["only"])
    is_other = bool(what and only) and _about(what, call) and not any(map(call.has, only))
    return "it is none of what the rule allows alone" if is_other else ""


def _goes_elsewhere(who: str, what: str, call: CallWords) -> str:
    things, names = _terms(what), [term.word for term in terms_of(who)]
    given = " ".join(normalise(str(v)) for k, v in call.args.items() if k in _RECIPIENTS)
    if not given or not things or any(name in given for name in names):
        return ""
    is_meant = all(call.has(term) for term in things)
    return "it goes to somebody whom the rule does not name" if is_meant else ""


def _forbidden(rule: str, text: str, call: CallWords) -> str:
    """Why a call is what the rule forbids."""
    act, unless = _prohibited(text)
    if act is None:
        return ""
    terms = _terms(act, rule)
    if call.reads and _changes(act, terms):
        return ""
    if call.refuses and not _name(terms, "disable delete"):
        return ""
    is_meant = _met(terms, call) or (_name(terms, "disable") and call.turns_off(terms))
    if not terms:
        is_meant = bool(_EVERYTHING.search(act)) and not call.reads
    is_right = bool(unless) and any(call.has(term) for term in unless)
    return "it is what the rule forbids" if is_meant and not is_right else ""


def _changes(act: str, terms: Sequence[Term]) -> bool:
    """Whether the rule is about changing something, which a call that reads never does."""
    return not _name(terms, "read") and (bool(_CHANGE.search(act)) or _name(terms, _ACTS))


_DUTY: Final = lazy_pattern(r"\b(?:always|must|keep|every|each)\b|必ず|毎回|常に")


def _left_out(text: str, call: CallWords) -> str:
    """Why a call that turns off what a rule demands breaks it."""
    if negated(text) or not _DUTY.search(text) or call.reads:
        return ""
    return "it turns off what the rule demands" if call.turns_off(_terms(text)) else ""


def _name(terms: Sequence[Term], words: str) -> bool:
    """Whether a term means one of the words."""
    return any(matches_any(term.word, words) for term in terms)


def _prohibited(text: str) -> tuple[str | None, list[Term]]:
    """The act that a rule forbids, and what would make it right; None when it forbids none."""
    plain = text
    unless: list[Term] = []
    if (match := _INSTEAD.search(plain)) is not None:
        return match["ban"], []
    if _READ_ONLY.search(plain):
        return "change " + _READ_ONLY.sub(" ", re.sub(r"\btreat|\bas\b", " ", plain)), []
    if _LEFT_ALONE.search(plain):
        return plain, []
    if (first := _FIRST.match(plain)) is not None and not negated(plain):
        return first["act"] or first["act_ja"], _terms(first["en"] or first["ja"] or "")
    # "never" and "without" in one rule deny each other only for a count of words.
    if not negated(plain) and not _WITHOUT.search(plain):
        return None, []
    if (match := _WITHOUT.search(plain)) is not None:
        unless = _terms(match["en"] or match["ja"] or "")
        plain = f"{plain[: match.start()]} {plain[match.end() :]}"
    clauses = [part for part in _CLAUSE.split(plain) if part and part.strip()]
    denied = [part for part in clauses if negated(part)] or clauses
    if len(clauses) > 1 and not re.match(r"(?:must|may|can)", denied[-1]):
        plain = denied[-1]
    return plain, unless


def _terms(text: str, rule: str = "") -> list[Term]:
    denials = (
        r"\b(?:never|not|no|nothing|don't|must|may|cannot|can't|only|nobody)\b|禁止|厳禁|不可|ない"
    )
    return terms_of(re.sub(denials, " ", text), rule)


def _about(terms: Sequence[Term], call: CallWords) -> bool:
    """Whether the call has half of the words."""
    return 2 * sum(call.has(term) for term in terms) >= len(terms)


def _met(terms: Sequence[Term], call: CallWords) -> bool:
    """Whether the call has every word that counts."""
    in_values = [term for term in terms if call.in_values(term)]
    certain = any(not term.place and not term.detail for term in in_values)
    missing = [term for term in terms if not call.has(term)]
    if any(term.is_name or term.proper or term.word in ENVIRONMENTS for term in missing):
        return False
    if any(term.is_name and not call.in_values(term) for term in terms):
        return False
    if not any(call.has(term) for term in terms):
        return False
    return all(_may_lack(term, terms, call, certain=certain) for term in missing)


def _may_lack(term: Term, terms: Sequence[Term], call: CallWords, *, certain: bool) -> bool:
    after = terms[terms.index(term) + 1 : terms.index(term) + 2]
    if after and (term.detail or after[0].proper):
        # "My ex-husband, Greg" is Greg.
        return call.in_values(after[0])
    return certain and (term.place or term.verb) and not call.has_key(term)


def undecided(call: ActCall, pins: Iterable[ConstraintPin], at: datetime) -> list[ConstraintPin]:
    """The rules that speak of the call and that the check cannot read as a limit or a ban."""
    act = CallWords(call.name, call.description, call.args)
    if act.reads or act.rehearses:
        return []
    return [pin for pin in pins if _speaks_of(pin.text, act) and not _readable(pin.text, act, at)]


def _speaks_of(rule: str, call: CallWords) -> bool:
    return any(call.has(term) for term in _terms(rule, rule))


def _readable(rule: str, call: CallWords, at: datetime) -> bool:
    window, text = window_of(rule, at)
    limit, rest = limit_of(text)
    if limit is not None:
        return bounded(limit, call.args, _terms(rest, rule)) is not None
    return window is not None or _prohibited(text)[0] is not None
