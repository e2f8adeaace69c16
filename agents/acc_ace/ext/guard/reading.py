"""What a rule says of acts: read once, when it is compiled."""

import re
from dataclasses import dataclass, replace
from operator import ge, gt, le, lt
from typing import Final, Literal

from acc_ace.core.text.normalize import normalise, skeleton
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.polarity import negated
from acc_ace.ext.guard.amounts import MONEY, amounts_in
from acc_ace.ext.guard.times import Window, window_of
from acc_ace.ext.guard.words import Thing, act_classes, is_generic, things_in

Relation = Literal[">", ">=", "<", "<="]
_BREAKS: Final = {">": gt, ">=": ge, "<": lt, "<=": le}

_SENTENCE: Final = lazy_pattern(
    r"(?<!Mr.)(?<!Mrs.)(?<!Ms.)(?<!Dr.)(?<=[.!?])\s+(?=[A-Z\"'`*])|(?<=[。!?！？])|;\s|\n+"
)
_NEVER: Final = lazy_pattern(
    r"\b(?:under|in|on|at) no (?:circumstances?|case|account|event|time|conditions?)\b"
)
_CLAUSE: Final = lazy_pattern(
    r"[,:]\s*(?:and |but |so )?(?=(?:never|not|no|nothing|don't|do not|must not|may not|can't)\b)"
)
_PRONOUN: Final = lazy_pattern(
    r"\b(?:it|them|that one|there|its|these|those)\b|それ|これ|そこ|同じ"
)

_READ_ONLY: Final = lazy_pattern(r"\bread[- ]only\b|読み取り(?:だけ|のみ|専用)|閲覧(?:だけ|のみ)")
_LEFT_ALONE: Final = lazy_pattern(
    r"\bleave\b(?=.*\balone\b)|\b(?:leave|keep)\b(?=.*\b(?:as (?:it|they)|untouched)\b)|\balone\b"
    r"|\bas (?:it is|they are)\b|\boff[- ]limits\b|\bhands off\b|\buntouched\b"
    r"|そのまま(?:に|で)?|手を(?:付|つ)け|触ら|触れ|いじ(?:ら|る)"
)
_STAYS: Final = lazy_pattern(
    r"\b(?:stays?|remains?|is kept|are kept|keep|leave|kept)\b(?P<mid>.*?)"
    r"\b(?P<state>off|on|running|up|enabled|disabled|closed|shut|locked|open)\b|(?P<ja>オフ|切った|止めた|オン|付けた|つけた)のまま"
)
_ON: Final = frozenset(["on", "running", "up", "enabled", "オン", "付けた", "つけた", "open"])
_OPPOSITES: Final = dict.fromkeys(("closed", "shut", "locked"), "open")
_FIRST: Final = lazy_pattern(
    r"^(?:please )?(?:always )?(?P<en>(?:ask|check with|consult|get|take|make|have|wait for|tell"
    r"|call|inform|notify|confirm|run)\b.*?) (?:before|prior to) (?P<act>.*)$"
    r"|^(?P<act_en>(?!.*\b(?:never|not|no)\b).+?) (?:needs?|requires?|only after|only with)"
    r" (?P<need>.+)$"
    r"|^(?P<act_ja>.+?)の?(?<!人)前に?は?、?(?:必ず|毎回)?(?P<ja>.+)$"
    r"|^(?P<act_ja2>.+?)(?:は|を|に|する場合|とき)、?(?:必ず|毎回|先に|まず)?(?:私|わたし|僕|俺|上長)"
    r"に?(?P<ja2>.*?(?:確認|承認|聞|相談|許可).*)$"
)
_WITHOUT: Final = lazy_pattern(
    r"\b(?:without|unless|except(?: for)?|other than|besides)\b(?P<en>[^,.]*)"
    r"|(?P<ja>[^、をはに]+?)(?:なし|無し|抜き|なく|を除(?:き|いて)|以外)(?:に|で|へ|を|の|には)?(?:は)?"
)
_OUTSIDE: Final = lazy_pattern(
    r"\b(?:outside(?: of)?|not (?:in|at|on)|other than|except(?: for)?(?: to)?|but|besides)\s+"
    r"(?P<en>[^,.]*(?:\.\w+)*)$"
    r"|(?P<ja>[^、をはに]+?)(?:以外|の外)(?:の[^にをは]*?)?(?=に|へ|で|を|は|から|の)"
)
_INSTEAD: Final = lazy_pattern(r"(?P<ban>[^、。]+?)(?:では|じゃ)なく(?:て)?(?P<use>.*)$")
_ONLY: Final = lazy_pattern(
    r"\b(?:only|solely|exclusively|(?:nobody|no one|none|nothing) (?:but|except))\b"
    r"|だけ|のみ|に限|しか"
)
_RECEIVES: Final = lazy_pattern(
    r"^(?:only|nobody but|no one but|nobody except|no one except) (?P<who>.+?)"
    r" (?:gets?|may|can|sees?|receives?|has|have|is|are|should)\b(?P<what>.*)$"
    r"|^(?P<what_ja>.+?)(?:を|は).*?(?:いい|よい|良い|できる|渡す|教える|送る|見せる)のは"
    r"(?P<who_ja>.+?)(?:さん)?(?:だけ|のみ)"
)
_USE_ONLY: Final = lazy_pattern(
    r"^(?:please )?(?P<what>.*?)\b(?P<last>\w+) (?:are |is |go out as |stay |goes )?only"
    r" (?:to|from|with|in|at|on|as|via|by|through|into) (?P<only>.+)$"
    r"|^(?:please )?(?:use|buy from|order from|book|choose|send to) only (?P<what2>\w+)"
    r" (?P<only2>.+)$"
    r"|^(?P<what3>.+?) (?:are|is|go out as|stay) (?P<only3>\w+) only\b"
    r"|^(?:please )?only (?P<what5>.+?) (?:to|from|with|in|at|on|via|into) (?P<only5>.+)$"
    r"|^(?P<what4>.+?)は(?P<only4>.+?)(?:だけ|のみ|に限|しか)"
)
_CONSULTS: Final = lazy_pattern(
    r"\b(?:ask(?:ing|ed)?|approv\w+|confirm\w*|check(?:ing)? with|sign-?off|permission|consent"
    r"|ok(?:ay)?|say|go-?ahead|tell(?:ing)?)\b|確認|承認|相談|許可|聞|了承|同意|断り|無断|勝手"
)
_UNDECIDED: Final = lazy_pattern(
    r"\b(?:while|during|until|till|unless|as long as|so long as|when(?:ever)?|if|once|before|after"
    r"|because|since|in case|for now|for the time being|today|tonight|tomorrow|this (?:morning"
    r"|afternoon|evening|week|month|year|sprint|quarter)|yet)\b(?:[^,.;]|\.(?=\w))*"
    r"|^[^、。]*?(?:まで|限り|場合|あいだ|(?<!の)(?:間|中)|とき|際|うち)(?:は|には|に|も)?、"
    r"|[^、。はがを]*?まで(?:は|に|も)?"
    r"|[^、。はがを]*?(?:限り|場合|あいだ|(?<!の)(?:間|中)|とき|際|うち)"
    r"(?:は|には|に|も|、|の(?=[^間中]))、?"
    r"|[^、。]*?(?:たら|れば|なら)、?|今日|本日|今週|今月|明日|今夜|当面|しばらく|いまは|今は"
)
_DENIALS: Final = lazy_pattern(
    r"(?<!-)\b(?:never|not|no|nothing|don't|doesn't|must|may|cannot|can't|only|nobody|no one|none"
    r"|avoid|refrain from|stop|forbid\w*|prohibit\w*|please|do|any|ever|without)\b"
    r"|禁止|厳禁|不可|しない|ない"
)
_MINOR: Final = lazy_pattern(r"\bminors?\b|\bunderage\b|未成年者?")
_SPAN: Final = lazy_pattern(
    r"(?P<noun>[a-z]+)?\s*\b(?P<a>-?\d+)\s*(?:to|and|[-–〜~～]|から)\s*(?P<b>-?\d+)"
    r"\s*(?P<after>[\u3400-\u9fff%°]+|[a-z]+)?"
)
_MORE: Final = "more|greater|larger|higher|longer|bigger"
_LESS: Final = "less|fewer|smaller|lower|younger|shorter"
_EN_SIDES: Final = {
    "cap": lazy_pattern(
        rf"(?:\bup to|\bat most|\bno (?:{_MORE}) than|\bnot (?:{_MORE}) than|\bmax(?:imum)?(?: of)?"
        r"|\blimit(?:ed)?(?: (?:is|of|to|at))?|\bbudget(?: is| of)?|\bcap(?:ped)?(?: is| of| at)?"
        r"|上限は?|最大で?)\s*(?:the |a )?$"
    ),
    "floor": lazy_pattern(
        rf"(?:\bat least|\bno (?:{_LESS}) than|\bnot (?:{_LESS}) than|\bminimum(?: of)?"
        r"|最低(?:でも)?|少なくとも)\s*$"
    ),
    "over": lazy_pattern(
        rf"(?:\b(?:{_MORE}|colder|warmer) than|\babove|\bover|\bbeyond|\bexceed(?:s|ing)?|\bpast"
        r"|\bin excess of)\s*(?:the |a )?$"
    ),
    "below": lazy_pattern(rf"(?:\b(?:{_LESS}) than|\bbelow|\bunder)\s*(?:the |a )?$"),
}  # fmt: skip
_JA_SIDES: Final = {
    "over": lazy_pattern(
        r"^[^、。]{0,3}?(?:を|より|も)?(?:超|越|上回|以上|大き|多く|多い|高|長|延ば|増や|オーバー)"
    ),
    "below": lazy_pattern(r"^(?:を|より|も)?(?:未満|下回|少な|小さ|低|短|下げ)"),
    "cap": lazy_pattern(
        r"^(?:まで|以内|以下|が上限|を上限|が限度)"
        r"|^ (?:max|or less|tops|at (?:the )?most|and no more)\b"
    ),
    "floor": lazy_pattern(r"^ (?:min|or more)\b|^は(?:残|確保|維持)"),
}
_EACH: Final = lazy_pattern(
    r"\b(?:per|each|a|an|every|single) \w+|[一1](?:泊|回|件|人)|\d+銘柄|ごと|あたり"
)


@dataclass(frozen=True)
class Limit:
    """The relation to a number, in the base of its unit, that breaks a rule."""

    relation: Relation
    value: float
    unit: str = ""
    each: bool = False
    """Whether it bounds each piece and not the sum."""
    wording: str = ""
    """As the rule says it."""

    def __str__(self) -> str:
        """As '> 20 EUR'."""
        amount = f"{self.value:g} {self.unit}" if self.unit in MONEY else self.wording
        return f"{self.relation} {amount}"

    def breaks(self, value: float) -> bool:
        """Whether a number breaks it."""
        return bool(_BREAKS[self.relation](value, self.value))


@dataclass(frozen=True)
class RuleReading:
    """What a sentence of a rule forbids or bounds."""

    verbs: tuple[str, ...] = ()
    """The acts that it means; none: any act on the things."""
    things: tuple[Thing, ...] = ()
    unless: tuple[Thing, ...] = ()
    """What makes the act right, if the call shows it."""
    allowed: tuple[Thing, ...] = ()
    """All that is allowed: what goes elsewhere breaks the rule."""
    limits: tuple[Limit, ...] = ()
    window: Window | None = None
    open_clause: bool = False
    """Whether it has a condition that no call shows."""
    binds: bool = True
    """Whether it was read as a ban, a limit or a list of what is allowed."""
    whole: bool = True
    every: bool = False
    """Whether it is about an act on all of something."""
    either: bool = False
    """Whether one of its things is enough."""
    who: bool = False
    """Whether what is allowed are those who get something."""


def read_rule(rule: str) -> tuple[RuleReading, ...]:
    """The readings of a rule's sentences, those that bind alone if there are any."""
    readings: list[RuleReading] = []
    earlier: tuple[Thing, ...] = ()
    sentences = [s for s in _SENTENCE.split(skeleton(rule)) if s and s.strip(" 。.")]
    for sentence in sentences:
        reading = _read(sentence)
        if _PRONOUN.search(normalise(sentence)) or not (reading.things or reading.limits):
            reading = replace(reading, things=reading.things or earlier)
        earlier = reading.things or earlier
        readings.append(reading)
    binding = [each for each in readings if each.binds] or readings
    return tuple(
        replace(each, whole=each.whole and len(binding) == len(sentences)) for each in binding
    )


def _read(sentence: str) -> RuleReading:
    text = _NEVER.sub("never", normalise(sentence).strip(" .。!"))
    window, text = window_of(text)
    limits, rest = _limits(text)
    if limits:
        return _limit(rest, sentence, limits, window)
    if window is not None and _ONLY.search(text) and not negated(_ONLY.sub(" ", text)):
        window = replace(window, only=True)
        verbs, things = _act(re.sub("の?間", " ", _ONLY.sub(" ", text)), sentence)
        return RuleReading(verbs, things, window=window)
    reading = _only(text, sentence) or _ban(text, sentence)
    if reading is None:
        verbs, things = _act(text, sentence)
        binds = window is not None
        return RuleReading(verbs, things, window=window, binds=binds, whole=False)
    return replace(reading, window=window)


def _limit(
    rest: str, sentence: str, limits: tuple[Limit, ...], window: Window | None
) -> RuleReading:
    plain = _ONLY.sub(" ", rest)
    if (first := _FIRST.match(plain)) and (act := first["act"] or first["act_ja"]):
        plain = act
    plain = _WITHOUT.sub(" ", plain)
    clause = _UNDECIDED.search(_CONSULTS.sub(" ", plain))
    verbs, things = _act(_CONSULTS.sub(" ", _UNDECIDED.sub(" ", plain)), sentence, noun_acts=True)
    return RuleReading(verbs, things, limits=limits, window=window, open_clause=clause is not None)


def _limits(text: str) -> tuple[tuple[Limit, ...], str]:
    """The limits in a normalised rule, and the rule without them."""
    if (minor := _MINOR.search(text)) and negated(text):
        return (Limit("<", 18, "age", wording=minor.group()),), _MINOR.sub(" ", text)
    forbids = negated(text) or bool(_CONSULTS.search(text))
    for amount in amounts_in(text):
        before, after = text[: amount.start], text[amount.end :]
        sides = [(s, m) for s, p in _EN_SIDES.items() if (m := p.search(before))]
        sides = sides or [(s, m) for s, p in _JA_SIDES.items() if (m := p.search(after))]
        if not sides:
            continue
        side, match = sides[0]
        relation = _relation(side, forbids=forbids, strict="以上" in match.group())
        # "Nobody under 16" speaks of years.
        unit = amount.unit or ("age" if side == "below" and forbids else "")
        leads = match.string is before
        cut = (before[: match.start()], after) if leads else (before, after[match.end() :])
        wording = text[amount.start : amount.end].strip()
        limit = Limit(relation, amount.value, unit, bool(_EACH.search(text)), wording)
        return (limit,), " ".join(cut)
    if (span := _SPAN.search(text)) and (_ONLY.search(text) or re.search(r"\bbetween\b", text)):
        if re.search(r"時|:\d\d", span.group()):
            return (), text
        unit = next((a.unit for a in amounts_in(f"{span['b']} {span['after'] or ''}")), "")
        words = " ".join(filter(None, (span["noun"], "" if unit else span["after"])))
        low, high = float(span["a"]), float(span["b"])
        both = (Limit("<", low, unit, wording=span["a"]), Limit(">", high, unit, wording=span["b"]))
        return both, f"{text[: span.start()]} {words} {text[span.end() :]}"
    return (), text


def _relation(side: str, *, forbids: bool, strict: bool) -> Relation:
    if side in {"cap", "floor"}:
        return ">" if side == "cap" else "<"
    if side == "over":
        return (">=" if strict else ">") if forbids else "<="
    return "<" if forbids else ">="


def _only(text: str, sentence: str) -> RuleReading | None:
    """A rule that names all who may, or all that is allowed."""
    if _READ_ONLY.search(text):
        return None
    if match := _RECEIVES.match(text):
        who, what = match["who"] or match["who_ja"], match["what"] or match["what_ja"]
        verbs, things = _act(what, sentence, noun_acts=True)
        about = things or tuple(Thing((v,)) for v in verbs)
        return RuleReading((), about, allowed=things_in(who, sentence), who=True)
    if (match := _USE_ONLY.match(text)) and not (match["only"] and negated(text)):
        groups = match.groupdict()
        only = next(groups[k] for k in groups if k.startswith("only") and groups[k])
        what = " ".join(v for k, v in groups.items() if k.startswith(("what", "last")) and v)
        verbs, things = _act(what, sentence, noun_acts=True)
        allowed = things_in(only, sentence)
        return RuleReading(verbs, things, allowed=allowed, whole=False) if allowed else None
    if (match := _OUTSIDE.search(text)) and (negated(text) or _ONLY.search(text)):
        allowed = things_in(match["en"] or match["ja"], sentence)
        verbs, things = _act(f"{text[: match.start()]} {text[match.end() :]}", sentence)
        return RuleReading(verbs, things, allowed=allowed, who=True) if allowed else None
    return None


def _ban(text: str, sentence: str) -> RuleReading | None:
    """A rule that forbids an act, or wants somebody asked before it."""
    if match := _INSTEAD.search(text):
        return RuleReading(_act(match["use"], sentence)[0], things_in(match["ban"], sentence))
    if (match := _STAYS.search(text)) and not negated(text[: match.start()]):
        return _kept_so(match, text, sentence)
    if _READ_ONLY.search(text) or _LEFT_ALONE.search(text):
        plain = _LEFT_ALONE.sub(" ", _READ_ONLY.sub(" ", re.sub(r"\btreat\b|\bas\b", " ", text)))
        plain = re.split(r", (?=no\b|nothing\b|never\b)", plain)[0]
        return RuleReading((), things_in(_DENIALS.sub(" ", plain), sentence))
    if (match := _FIRST.match(text)) and not negated(text):
        return _first(match, sentence)
    return _denial(text, sentence) if negated(text) or _WITHOUT.search(text) else None


def _kept_so(match: re.Match[str], text: str, sentence: str) -> RuleReading:
    """A rule that something stays on, off or closed."""
    state = match["state"] or match["ja"]
    verb = "disable" if state in _ON else _OPPOSITES.get(state, "enable")
    rest = f"{text[: match.start()]} {match['mid'] or ''}"
    denials = [part for part in _CLAUSE.split(text[match.end() :]) if part and negated(part)]
    also = _act(denials[0], sentence)[0] if denials else ()
    return RuleReading((verb, *also), things_in(_DENIALS.sub(" ", rest), sentence), whole=False)


def _first(match: re.Match[str], sentence: str) -> RuleReading | None:
    """A rule that somebody is asked, or something is done, before an act."""
    wants = match["en"] or match["need"] or match["ja"] or match["ja2"]
    act = match["act"] or match["act_en"] or match["act_ja"] or match["act_ja2"]
    consult = bool(_CONSULTS.search(wants))
    if not (consult or match["en"] or match["act_ja"]):
        return None
    verbs, things = _act(act, sentence)
    return RuleReading(verbs, things, () if consult else things_in(wants, sentence))


def _denial(text: str, sentence: str) -> RuleReading:
    """A rule in words of denial."""
    unless: tuple[Thing, ...] = ()
    if without := _WITHOUT.search(text):
        words = without["en"] or without["ja"] or ""
        unless = () if _CONSULTS.search(words) else things_in(words, sentence)
        text = f"{text[: without.start()]} {text[without.end() :]}"
    clauses = [part for part in _CLAUSE.split(text) if part and part.strip()]
    denials = [part for part in clauses if negated(part)] or clauses
    plain = denials[-1] if len(clauses) > 1 else text
    verbs, things = _act(_UNDECIDED.sub(" ", plain), sentence)
    context = " ".join(clauses[: clauses.index(plain)] if plain in clauses else [])
    if re.match(r"(?:please |always )*use\b", context):
        # "Use pnpm, never npm" forbids a thing.
        return RuleReading((), things_in(_DENIALS.sub(" ", plain), sentence))
    if context:
        things, verbs = things or things_in(context, sentence), verbs or _act(context, sentence)[0]
    is_open, every = bool(_UNDECIDED.search(text)), bool(_EVERY.search(text))
    either = bool(_EITHER.search(plain))
    return RuleReading(verbs, things, unless, open_clause=is_open, every=every, either=either)


_EITHER: Final = lazy_pattern(r"\b(?:or|nor)\b|または|もしくは|や")
_EVERY: Final = lazy_pattern(r"\b(?:full|entire|whole|complete)\b|全(?=[^て部員])")


def _act(
    text: str, sentence: str, *, noun_acts: bool = False
) -> tuple[tuple[str, ...], tuple[Thing, ...]]:
    """The verbs of a normalised clause and what they are about.

    The verb is the first act in English, the last one in Japanese, with what is joined to it.
    """
    is_english = text.isascii() or bool(_ENGLISH.search(text))
    plain = _DENIALS.sub(" ", text)
    things = things_in(plain, sentence)
    words = [word for thing in things if not thing.place for word in thing.words]
    acts = [word for word in words if act_classes(word)]
    first = next(iter(re.findall(r"[a-z][a-z-]+", plain)), "")
    if is_english and not noun_acts:
        if first and is_generic(first):
            return (), things_in(plain.partition(first)[2], sentence)
        acts = acts or [word for word in words if word == first]
    if not acts:
        return (), things
    verb = acts[0] if is_english else acts[-1]
    pattern = _JOINED_EN if is_english else _JOINED_JA
    joined = re.search(pattern.format(re.escape(verb)), plain)
    also = [word for word in acts if joined and joined[1].endswith(word)]
    verbs = {verb, *also[:1]}
    rest = (replace(t, words=tuple(w for w in t.words if w not in verbs)) for t in things)
    return tuple(sorted(verbs)), tuple(t for t in rest if t.words or t.names)


_ENGLISH: Final = lazy_pattern(r"\b(?:never|not|no|don't|ask|before|only|may|must|the|of|a)\b")
_JOINED_EN: Final = r"{}\w*(?:,? (?:or|and|nor) |, )(\w+)"
_JOINED_JA: Final = (
    r"([\u3400-\u9fff\u30a1-\u30faー]+)(?:も|や|と|・|、|または|および|、また)[^、。]{{0,3}}?{}"
)
