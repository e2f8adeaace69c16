"""A fingerprint of what a lesson says: near-duplicates share it, contrary lessons do not.

Two lessons have one fingerprint when they differ in nothing but case, width, punctuation,
inflection, filler words ("always", "please", 「必ず」), polite endings, or where the condition
stands ("Before X, do Y" and "Do Y before X"). Negation, numbers, names and word order count, so
"always X" and "never X" stay apart. No similarity threshold: a lesson is only dropped as a
duplicate when nothing it says would be lost.
"""

import re
import unicodedata

NO_EN = "not0"
"""What an English negation becomes."""

NO_JA = "否"
"""What a Japanese negation becomes."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(
    rf"[{_CJK}ー]+|[^\W_{_CJK}]+(?:[._'-][^\W_{_CJK}]+)*"
    # Marks that tell things apart: C and C++, .env and env, x < 5 and x > 5, -1 and 1.
    r"|[<>=+/%$€¥£#&@|~^\\]+|-(?=\d)|(?<!\w)\.(?=\w)"
)
_PROTOCOLS = frozenset({"https", "ftps", "ldaps", "imaps", "smtps"})
"""Words whose final s is no plural."""
_LEADING_CONDITION = re.compile(
    r"^\s*((?:before|after|when|whenever|if|unless|until|while|once)\b[^,.;:]{1,200}),\s*(.+)$",
    re.IGNORECASE | re.DOTALL,
)
_NEGATIVE_EN = re.compile(
    r"\b(?:never|(?:do|does|did|must|should|shall|can|could|may|will|would|is|are|was|were|has|have)"
    r"(?:\s+not|n't)\b(?:\s+ever\b)?|cannot|not)\b",
    re.IGNORECASE,
)
_FILLER_EN = frozenset(
    re.findall(
        r"\w+",
        "a an the please always ever just simply really very carefully kindly also must "
        "should shall need needs to of for on in at is are be been it its that this these "
        "those you your we our i make sure ensure remember",
    )
)
_NEGATIVE_JA = re.compile(
    r"(?:し|を)?(?:ては(?:いけない|いけません|ならない|なりません|だめ|駄目)"
    r"|ないで(?:ください|下さい|くれ)?|ないこと|ません|ない|するな|せず|ずに|禁止(?:する|です|とする)?)"
)
_ENDING_JA = re.compile(
    r"(?:し)?て(?:ください|下さい|おくこと|おく)|しましょう|すること|しなさい|するべき(?:だ|である)?"
    r"|すべき(?:だ|である)?|します|する|せよ|しろ|です|である"
)
_PAUSE_JA = re.compile(rf"(?<=[{_CJK}ー])[、。,\s]+(?=[{_CJK}])")
_FILLER_JA = re.compile(r"必ず|常に|いつも|絶対に|ちゃんと|きちんと|しっかり")
_PARTICLE_JA = re.compile(r"(?<=[\u30a0-\u30ff\u3400-\u9fffー])[はがをもにで](?=.|$)")


def fingerprint(text: str) -> str:
    """The fingerprint of a lesson; equal for near-duplicates, '' only for blank text."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    plain = _LEADING_CONDITION.sub(r"\2 \1", plain)
    plain = _NEGATIVE_EN.sub(f" {NO_EN} ", plain)
    plain = _PAUSE_JA.sub("", plain)
    tokens = (_normal(token) for token in _TOKEN.findall(plain))
    # A text of marks or filler alone is compared as it stands.
    return " ".join(token for token in tokens if token) or plain.strip()


def _normal(token: str) -> str:
    """A token without inflection; '' for filler."""
    if re.match(rf"[{_CJK}]", token):
        return _normal_ja(token)
    return "" if token in _FILLER_EN else uninflected(token)


def _normal_ja(run: str) -> str:
    run = _FILLER_JA.sub("", run)
    run = _NEGATIVE_JA.sub(NO_JA, run)
    run = _ENDING_JA.sub("", run)
    return _PARTICLE_JA.sub("", run)


def uninflected(word: str) -> str:
    """An English word without plural, tense and final e; other words as they are."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()) or word in _PROTOCOLS:
        return word
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word.removesuffix("e").removesuffix("i").removesuffix("y")
