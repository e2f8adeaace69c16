"""Classify speech acts: question, order, praise, greeting, report. English and Japanese cues."""

import re

from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.patterns import words_of
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import estimate_tokens

_WORK = words_of(
    """
    accept access act add address advise alert alter announce anonymise anonymize answer apply
    approve archive ask assign assume attach attend backup bill block book bounce bring buy bypass
    calculate call cap carry cc change charge check cite clear click close combine commit compare
    compute confirm connect consult contact continue contradict convert copy count create cut debug
    decline delay delegate delete deploy describe disable disclose discuss distribute double-check
    downgrade download draft drain drop edit email enable encrypt enter escalate estimate exceed
    execute expand explain export expose extend fail failover file fill find flag flush follow
    format forward generate give grant group guess halt hand handle hide highlight hire hold
    identify ignore import include increase inform insert install invest invite invoice issue keep
    kill label launch leak leave lend limit link list load log look loop lower mail make mark mask
    match measure mention merge message migrate mix modify move name negotiate notify obtain offer
    omit open order override overwrite page park pass paste patch pause pay perform phone ping place
    plan plot post prefer prefix prepare present preserve print prioritise prioritize proceed
    process produce promise promote propose protect provide prune publish pull purchase purge push
    put quote raise rate read reassign reboot recommend reconnect record redact redirect reduce
    refer refund refuse reject release reload remind remove rename reply report request reset resize
    respect respond restart restore restrict resume retry return reveal review rewrite roll rollback
    rotate round route run sacrifice save scale schedule search sell send serve set share ship show
    shut shutdown sign skip speak spell spend start state stay stick stop store submit subscribe
    substitute suggest summarise summarize suspend switch tag take talk tell terminate test text
    touch track trade transfer translate treat trigger trim truncate try turn unblock unlock update
    upgrade upload use validate verify wait wake warn wipe withdraw work wrap write
    """
)
"""Base forms of what an agent or a team does at work."""

_QUESTION_START = re.compile(
    r"^(?:so |and |but |ok |okay |now |wait,? |sorry,? |hey,? |also,? )*"
    r"(?:what|when|where|who|whom|whose|why|how|which|is|are|was|were|do|does|did|can|could|may"
    r"|should|would|will|have|has|am)\b",
    re.IGNORECASE,
)
_QUESTION_JA = re.compile(
    r"(?:です|ます|でしょう|ました|でした|ません|ない|の|だろう)か[。\s]*$|[？?]\s*$|教えて"
)
_INFORM = re.compile(
    r"^(?:ok(?:ay)?,? |so,? |and |then,? |now,? |please )*(?:can you |could you "
    r"|would you )?(?:please )?(?:tell (?:me|us)|show (?:me|us)|list\b|give (?:me|us)|explain"
    r"|describe|summari[sz]e|remind (?:me|us)|repeat|compare|recap|walk (?:me|us) through)"
    r"|(?:教えて|挙げて|まとめて|見せて|説明して|要約して|示して)(?:ください|下さい|くれますか"
    r"|もらえますか|ほしい|よ)?"
    r"[。！!]*$",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"^(?:ok(?:ay)?,? |so |and |also,? |please |(?:can|could|would|will) you (?:please )?)*"
    r"(?:remember|note|keep in mind|bear in mind|take note|make a note|don't forget|memori[sz]e)"
    r"(?: (?:this|that)?:| that\b,?)\s*(?=\S)",
    re.IGNORECASE,
)
_REMEMBER_JA = re.compile(
    r"(?:(?:覚えて|記憶して|メモして|記録して|控えて|留意して)(?:おいて)?|(?:メモ|記録|記憶)を?)"
    r"(?:ください|下さい|くれますか|もらえますか|いただけますか|お願いします|ほしいです|ね)?[。！!]*$"
)
_POLITE_ORDER = re.compile(
    r"^(?:ok(?:ay)?,? |so |and |then |now,? )*(?:please|can you|could you|would you|will you)\b"
    r"|^(?:let's|let us|go ahead and)\b",
    re.IGNORECASE,
)
_ORDER_EN = re.compile(
    r"^(?:ok(?:ay)?,? |so,? |and |then,? |now,? |quick,? |urgent:? |alright,? |right,? |just "
    r"|please |go ahead and |let's |immediately |quickly )*"
    rf"(?:do(?! not| n't)|back(?= up)|(?:{'|'.join(sorted(_WORK))}))(?=[ .!]|$)"
    r"(?!(?:\s+\S+){0,3}\s+(?:is|are|was|were|has|had|will|looks?|seems?)\b)",
    re.IGNORECASE,
)
"""A verb of work at the start, unless it is used as a noun ("Support is slow")."""

_ORDER_JA = re.compile(
    r"(?:て|んで|いで)(?:ください|下さい|くれ|くれますか|もらえますか|いただけますか|ほしい|欲しい|よ"
    r"|おいて(?:ください)?)?[。！!]*$|(?:しよう|ましょう|しろ|せよ|お願いします|頼みます|お願い)[。！!]*$"
)
_NO_ORDER_JA = re.compile(r"(?:ないで|なくて|助かって|困って|まして|思って)")
_PRAISE = re.compile(
    r"\b(?:that (?:fixed it|helped|did it)|(?<!not )worked(?! on\b| at\b| for)|healthy again"
    r"|well done|good job|perfect|exactly right|solved it|that solved|great answer)\b"
    r"|うまくいきました|うまくいった|解決しました|直りました|助かりました|完璧|その通りです|正解です|効きました",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?i)^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks?(?: you| a lot| so much)?"
    r"|thx|cheers|bye|good night|see you|ok(?:ay)?|sure|great|cool|got it|understood|alright|nice"
    r"|おはよう(?:ございます)?|こんにちは|こんばんは|お疲れ(?:様|さま)です|了解(?:です|しました)?"
    r"|ありがとう(?:ございま(?:す|した))?|承知(?:いた)?しました|わかりました|はい|なるほど)"
    r"(?:[,、\s!！.。]+(?:there|all|everyone|team|again|for (?:that|now|your help)|so much"
    r"|thank(?:s| you)|皆さん|みなさん|よろしくお願い(?:いた)?します|助かります"
    r"|ありがとう(?:ございま(?:す|した))?))*[\s!！.。〜～]*$"
)
_ITEM = re.compile(r"(?:^|\s)(?:[1-9][.)．、](?!\d)|[①-⑨])")
_LIST_TOKENS = 90
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|not sure|unclear|unknown|might|suspect|unconfirmed"
    r"|i think|i guess|seems? to|could be|not (?:yet )?(?:confirmed|verified))\b"
    r"|かもしれ|おそらく|たぶん|多分|未確認|不明|らしい|はっきりしない|わからない|分からない|と思う|確認中|疑い",
    re.IGNORECASE,
)


def units_of(text: str) -> list[str]:
    """The sentences of a text; a short text with a numbered list is one, as its items are none."""
    return [one_line(text)] if is_list(text) else split_sentences(text)


def is_list(text: str) -> bool:
    """Whether a short text has a numbered list."""
    return len(_ITEM.findall(text)) > 1 and estimate_tokens(text) <= _LIST_TOKENS


def is_question(sentence: str) -> bool:
    """Whether a sentence asks a question or requests information."""
    text = sentence.strip(" \n…")
    if _INFORM.search(text):
        return True
    if _POLITE_ORDER.match(text):
        return False
    if text.endswith(("?", "？")):
        return True
    return bool(_QUESTION_JA.search(text)) or (
        bool(_QUESTION_START.match(text)) and not text.endswith((".", "!"))
    )


def is_order(sentence: str) -> bool:
    """Whether a sentence is an order to the agent; to remember something is none."""
    text = sentence.strip(" \n…")
    if _REMEMBER.match(text) or _REMEMBER_JA.search(text.rstrip("?？")):
        return False
    if _POLITE_ORDER.match(text) or _ORDER_EN.match(text):
        return True
    return bool(_ORDER_JA.search(text.rstrip("?？"))) and not _NO_ORDER_JA.search(text)


def is_said(sentence: str) -> bool:
    """Whether a sentence states something: no question, no order, no greeting."""
    return not (is_question(sentence) or is_order(sentence) or is_greeting(sentence))


def questions(text: str) -> list[str]:
    """The questions in a text."""
    return [item for item in units_of(text) if is_question(item)]


def orders(text: str) -> list[str]:
    """The orders in a text, without requests for information."""
    return [item for item in units_of(text) if is_order(item) and not is_question(item)]


def is_praise(text: str) -> bool:
    """Whether a text says that something worked or was right."""
    return _PRAISE.search(text) is not None


def is_greeting(text: str) -> bool:
    """Whether a text is only a greeting, thanks or an acknowledgement."""
    return _GREETING.match(text) is not None


def is_hedged(sentence: str) -> bool:
    """Whether a sentence expresses uncertainty."""
    return _HEDGE.search(sentence) is not None
