"""The mood of an English sentence: asked, reported, supposed, past. Takes normalised text."""

from acc_ace.core.text.patterns import any_of, lazy_pattern

_QUESTION_START = any_of(
    r"^(?:and |but |so |ok |okay |well )*(?:why|where|how|which|whose|who (?:is|are|may|can"
    r"|should|has|do|does))\b",
    r"^(?:and |but |so |ok |okay |well )*what(?! i)\b",
    r"^(?:and |but |so |ok |okay |well )*(?:is|are|isn't|aren't|does|doesn't|did|didn't|was|were"
    r"|has|am i|shall (?:i|we))\b",
    r"^(?:do|don't|have|haven't|can|can't|could|should|shouldn't|would|must|may|might|will|won't)"
    r" (?:i|we|you|they|it|he|she|there|the|this|that|these|those|any|anyone)\b",
)
_CONFIRMING_TAG = lazy_pattern(r",? (?:ok|okay|please|alright|all right|right|got it|deal|yes)\?+$")
_POLITE_ORDER = lazy_pattern(
    r"^(?:please |so |and )?(?:can|could|will|would) you (?:please |kindly )?"
    r"(?:not |never |always |only |stop |avoid |refrain |make sure |keep .* (?:out|private|under))"
)

_SAYS = (
    r"said|says|saying|told|tells|telling|insist(?:s|ed)?|mention(?:s|ed)|wrote|believes?"
    r"|believed|thinks?|thought|argu(?:es|ed)|heard|hears|warn(?:s|ed)|reckons?|announced|announces"
    r"|complain(?:s|ed)|swears?|swore|promised|replied|explained|explains|hinted|posted"
    r"|assume[sd]?|figured|implied|implies|advise[sd]|instruct(?:s|ed)|assured|assures|texted"
    r"|emailed"
)
_MAYBE_SAYS = (
    r"claim(?:s|ed)?|state[sd]?|replies|read(?:s)?|ask(?:s|ed)|want(?:s|ed)|suggest(?:s|ed)?"
    r"|notes?|noted"
    r"|recommend(?:s|ed)|reports?|reported|feels?|felt|orders|ordered|demand(?:s|ed)|expects"
    r"|prefers"
    r"|would like|shows?"
)
_SAID_WHAT = (
    r"(?:that|to|me|us|you|we|he|she|it|they|there|the|this|all|any|every|only|not|never|no|nobody"
    r"|always|both|deploys?|prod\w*|▢|:|,)"
)
_REPORTED = any_of(
    rf"\b(?:{_SAYS})\b",
    rf"(?<!\bi )(?<!^)\b(?:{_MAYBE_SAYS})\b,? {_SAID_WHAT}\b",
    r"\baccording to (?!me\b|our polic|the (?:rules?|polic))",
    r"^per (?!our\b|my\b|the (?:rules?|polic|plan|agreement)|day\b|week\b|month\b)[\w. -]{1,40},",
    r"\b(?:reportedly|apparently|supposedly|allegedly|rumou?r has it|word is|in \w+'s (?:view"
    r"|opinion))\b",
    r"\bi (?:heard|read|was told|hear)\b|\bwrites (?:that|:|▢|,)",
    r"\b(?:the|an?|some|this|that) (?:article|book|paper|sign|poster|blog|wiki|run-?book|docs?"
    r"|page)\b.* (?:is|are|says?|reads?)\b.*▢",
)
_OWN_SAYING = lazy_pattern(
    r"\b(?:as |like )?(?:i|we)(?:'ve|'m| have| already| just| also| am| told| clearly)* "
    r"(?:said|told|saying|mentioned|asked|wrote|instructed|insist|telling)\b(?: (?:you|earlier"
    r"|before))*"
)

_PASSIVE_DUTY = lazy_pattern(r"\b(?:be|been|being) (?:\w+ly )?\w+(?:ed|en|told)\b")
"""In "must be announced" nobody reports."""

_SUPPOSED = any_of(
    r"^(?:suppose|supposing|imagine|what if|assuming|assume|let's say|say we|hypothetically"
    r"|in theory)\b",
    r"\b(?:maybe|perhaps|might|possibly|hopefully|hypothetically|presumably|probably|i guess"
    r"|i suppose"
    r"|i wonder|wondering|i wish|i hope|in theory|could (?:be|have|need|end))\b",
    r"\b(?:would|i'd|we'd|you'd|they'd|he'd|she'd)\b(?! (?:like|prefer|rather|appreciate"
    r"|love) (?:you|it if|that|every|all))"
    r"(?! (?:like|prefer) \w+ (?:to|answers|replies))(?! rather you)",
)
_CONDITIONAL = any_of(
    r"^(?:if|once|when|as soon as|in case|provided|assuming|should (?:the|he|she|they|it|\w+)"
    r"|after|until|unless)\b",
    r"\b(?:if|once|as soon as|in case|provided that|assuming|only when|when|as long as"
    r"|unless)\b (?!necessary|needed)",
    r"\bafter (?!\d|hours|work|dark|lunch|noon|midnight|six|eight|ten)",
)

_PAST = any_of(
    r"\b(?:had to|used to|was|were|wasn't|weren't|did|didn't|couldn't|had|hadn't|went|came|got"
    r"|ended up)\b",
    r"\b(?:has|have|had|must have|should have|could have|would have|may have|might have|hasn't"
    r"|haven't) been\b",
    r"\b(?:must|should|could|would|may|might|can't|cannot|shouldn't|couldn't)(?: not| never)? have"
    r" (?:\w+ed|gone|come|seen|done|made|had|got|gotten|taken|forgotten|left|lost|known|told"
    r"|written|sent|broken)\b",
    r"\b(?:yesterday|ago|back then|in the past|last (?:night|week|month|year|summer|winter"
    r"|spring|fall|time))\b",
    r"\bin (?:19|20)\d\d\b(?! and)",
    r"\b(?:never|always|nobody|no one|nothing|everyone|they|we|he|she|it) \w{2,}ed\b",
    r"\bnever (?:found|got|went|came|saw|knew|heard|felt|made|gave|took|thought|left|met|ran)\b",
)


def is_question(sentence: str) -> bool:
    """Whether it asks; a polite order ("could you never …?") does not."""
    if _POLITE_ORDER.search(sentence):
        return False
    if sentence.rstrip("\"') ").endswith("?"):
        return not _CONFIRMING_TAG.search(sentence)
    return bool(_QUESTION_START.search(sentence))


def is_reported(clause: str) -> bool:
    """Whether it gives somebody else's words; the speaker's own ("as I said") do not count."""
    own = _OWN_SAYING.sub("", _PASSIVE_DUTY.sub("", clause))
    return bool(_REPORTED.search(own))


def is_supposed(clause: str) -> bool:
    """Whether it is a supposition, a wish or a guess."""
    return bool(_SUPPOSED.search(clause))


def is_conditional(sentence: str) -> bool:
    """Whether it holds only if something happens."""
    return bool(_CONDITIONAL.search(sentence))


def is_past(clause: str) -> bool:
    """Whether it tells what was."""
    return bool(_PAST.search(clause))
