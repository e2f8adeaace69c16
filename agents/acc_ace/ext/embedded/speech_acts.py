"""Classify speech acts: question, order, praise, greeting, report. English and Japanese cues."""

import re

from acc_ace.core.text.patterns import words_of
from acc_ace.core.text.rules.corrections import without_correction
from acc_ace.core.text.sentences import split_sentences

_WORK = words_of(
    """accept access act add address advise alert alter anonymize anonymise answer apply approve
    archive ask assign assume attach attend back backup bill block book bring bypass buy call
    cap carry cc change charge check cite clear click close combine commit compare confirm
    connect consult contact contradict convert copy count create cut debug decline delay
    delegate delete deploy describe disable disclose discuss distribute double-check downgrade
    download drain draft drop edit email enable encrypt enter escalate estimate execute exceed
    expand explain export expose extend fail file fill flag flush follow format forward generate
    give grant group guess halt hand handle hide highlight hire hold identify ignore import
    include inform insert install invest invite invoice issue keep kill label launch leak leave
    lend limit link list load log loop lower mail make mark mask match measure mention merge
    message migrate mix modify move name negotiate notify obtain offer omit open order overwrite
    override page park pass paste patch pause pay perform phone ping place plan plot post prefer
    prefix prepare present preserve prioritize prioritise print process produce promise propose
    protect provide prune publish pull purchase purge push put quote raise rate read reassign
    reboot recommend reconnect record redact redirect reduce refer refund refuse reject release
    reload remind remove rename reply report request reset resize respect respond restart
    restore restrict retry return reveal review rewrite roll rotate round route run sacrifice
    save scale schedule search sell send serve set share ship show shut shutdown sign skip speak
    spell spend start state stay stick stop store submit subscribe substitute suggest summarize
    summarise suspend switch tag take talk tell terminate test text touch track trade transfer
    translate treat trigger trim truncate turn unblock unlock update upgrade upload use validate
    verify wait wake warn wipe withdraw work wrap write"""
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
    r"|would you )?(?:please )?"
    r"(?:tell (?:me|us)|show (?:me|us)|list\b|give (?:me|us)|explain|describe|summari[sz]e"
    r"|remind (?:me|us)"
    r"|repeat|compare|recap|walk (?:me|us) through)"
    r"|(?:教えて|挙げて|まとめて|見せて|説明して|要約して|示して)(?:ください|下さい|くれますか|もらえますか|ほしい|よ)?"
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
_ASIDE = re.compile(
    r"^(?:by the way|btw|speaking of|on another note|off topic|unrelated|fun fact)\b"
    r"|^(?:ところで|そういえば|余談|ちなみに|話は変わ)",
    re.IGNORECASE,
)
_POLITE_ORDER = re.compile(
    r"^(?:ok(?:ay)?,? |so |and |then |now,? )*(?:please|can you|could you|would you|will you)\b"
    r"|^(?:let's|let us|go ahead and)\b",
    re.IGNORECASE,
)
_ORDER_EN = re.compile(
    r"^(?:ok(?:ay)?,? |so,? |and |then,? |now,? |just |quick,? |urgent:? |alright,? |right,? )*"
    r"(?:please |just |go ahead and |let's |immediately )*"
    r"(?:restart|reboot|bounce|delete|drop|remove|wipe|purge|deploy|ship|release|push|roll|rollback"
    r"|fail|failover|switch|scale|run|stop|start|kill|disable|enable|send|post|share|publish|email"
    r"|tell|notify|page|call|open|close|create|make|write|draft|put|add|update|change|set|show"
    r"|list|give|summari[sz]e|calculate|compute|check|read|find|search|look|do(?! not| n't)"
    r"|try|use|approve"
    r"|buy|order|spend|pay|increase|raise|reduce|lower|move|copy|drain|apply|execute|pick|take"
    r"|proceed|continue|remind|repeat|explain|describe|compare|plan|prepare|include|flush|clear"
    r"|reset|resume|announce|promote|upgrade|install|merge|revert)\b",
    re.IGNORECASE,
)
_WORK_ORDER = re.compile(
    r"^(?:ok(?:ay)?,? |so,? |and |then,? |now,? |just |please |immediately |quickly )*"
    rf"(?:{'|'.join(sorted(_WORK))})(?= )"
    r"(?!(?:\s+\S+){0,3}\s+(?:is|are|was|were|has|had|will|looks?|seems?)\b)",
    re.IGNORECASE,
)
"""A verb of work at the start, unless it is used as a noun ("Support is slow")."""

_ORDER_JA = re.compile(
    r"(?:して|やって|出して|教えて|見せて|送って|消して|止めて|起動して|読んで|調べて|挙げて|まとめて|進めて|かけて"
    r"|入れて|書いて|切り替えて|戻して|伝えて|行って|せて|って|んで)"
    r"(?:ください|下さい|くれ|くれますか|もらえますか|いただけますか|ほしい|欲しい|よ|おいて(?:ください)?)?[。！!]*$"
    r"|(?:しよう|ましょう|しろ|せよ|お願いします|頼みます|お願い)[。！!]*$"
)
_NO_ORDER_JA = re.compile(r"(?:ないで|なくて|助かって|困って|まして|思って)")
_PRAISE = re.compile(
    r"\b(?:that (?:fixed it|helped|did it)|(?<!not )worked(?! on\b| at\b| for)"
    r"|healthy again|well done|good job|perfect"
    r"|exactly right|solved it|that solved|great answer)\b"
    r"|うまくいきました|うまくいった|解決しました|直りました|助かりました|完璧|その通りです|正解です|効きました",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks?(?: you| a lot| so much)?|thx"
    r"|cheers|bye|good night|see you|ok(?:ay)?|sure|great|cool|got it|understood|alright|nice"
    r"|おはよう(?:ございます)?|こんにちは|こんばんは|お疲れ様です|お疲れさまです|ありがとう(?:ございます|ございました)?"
    r"|了解(?:です|しました)?|承知(?:しました|いたしました)|わかりました|はい|なるほど)"
    r"(?:[,、\s!！.。]+(?:there|all|everyone|team|again|for (?:that|now|your help)|so much|皆さん"
    r"|みなさん|よろしくお願いします|よろしくお願いいたします|助かります))*[\s!！.。〜～]*$",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|not sure|unclear|unknown|might|suspect|unconfirmed"
    r"|i think|i guess|seems? to|could be|not (?:yet )?(?:confirmed|verified))\b"
    r"|かもしれ|おそらく|たぶん|多分|未確認|不明|らしい|はっきりしない|わからない|分からない|と思う|確認中|疑い",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:next(?: step)?[,:]?(?: we(?:'ll| will)?| is(?: to)?)?|then we(?:'ll| will)?"
    r"|we(?:'ll| will)"
    r"|going to|plan is to|i(?:'ll| will))\s+(?P<en>.{4,120}?)[.!]?$"
    r"|(?:次に|次は|この後|これから|明日|今夜)、?(?P<ja>.{3,60}?)[。！]?$",
    re.IGNORECASE,
)


def is_question(sentence: str) -> bool:
    """Whether a sentence asks a question or requests information."""
    text = sentence.strip()
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
    """Whether a sentence is an order to the agent."""
    text = sentence.strip()
    if is_reminder(text):
        return False
    if _POLITE_ORDER.match(text) or _ORDER_EN.match(text) or _WORK_ORDER.match(text):
        return True
    return bool(_ORDER_JA.search(text.rstrip("?？"))) and not _NO_ORDER_JA.search(text)


def asks_information(sentence: str) -> bool:
    """Whether a sentence requests information, such as "show me" or "explain"."""
    return _INFORM.search(sentence.strip()) is not None


def is_reminder(sentence: str) -> bool:
    """Whether a sentence asks to remember a fact: "Please remember that …"."""
    text = sentence.strip()
    return bool(_REMEMBER.match(text) or _REMEMBER_JA.search(text.rstrip("?？")))


def is_aside(sentence: str) -> bool:
    """Whether a sentence is marked as an aside."""
    return _ASIDE.match(sentence.strip()) is not None


def questions(text: str) -> list[str]:
    """The questions in a text."""
    return [item for item in split_sentences(text) if is_question(item)]


def orders(text: str) -> list[str]:
    """The orders in a text, without requests for information."""
    return [item for item in split_sentences(text) if is_order(item) and not asks_information(item)]


def statements(text: str) -> list[str]:
    """Sentences that are neither questions nor orders nor greetings."""
    return [
        item
        for item in split_sentences(text)
        if not (is_question(item) or is_order(item) or is_greeting(item))
    ]


def without_lead(sentence: str) -> str:
    """A sentence without a leading correction ("No, wrong:") or "remember that"."""
    return _REMEMBER.sub("", without_correction(sentence))


def is_praise(text: str) -> bool:
    """Whether a text says that something worked or was right."""
    return _PRAISE.search(text) is not None


def is_greeting(text: str) -> bool:
    """Whether a text is only a greeting, thanks or an acknowledgement."""
    return _GREETING.match(text) is not None


def is_hedged(sentence: str) -> bool:
    """Whether a sentence expresses uncertainty."""
    return _HEDGE.search(sentence) is not None


def next_step(text: str) -> str | None:
    """The next step that a text announces, or None."""
    for sentence in split_sentences(text):
        if match := _NEXT.search(sentence):
            return (match["en"] or match["ja"]).strip()
    return None
