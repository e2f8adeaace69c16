"""Whether a clause may be a rule, told by closed classes of function words.

What is found here is only asked about, so the classes are wide: how an order is formed, and what
makes it hold for more than one occasion; not what it is about. English and Japanese; of some other
languages how they form a prohibition. Takes normalised text.
"""

from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.patterns import any_of, lazy_pattern, one_of, words_of
from acc_ace.core.text.rules import mood_en, mood_ja
from acc_ace.core.text.rules.verbs_en import ONE_OFF, WORK

_VERBS = one_of(WORK | words_of("say stop bear tell hand look get take make let be have do put go"))
_STANDING = one_of(WORK - ONE_OFF - words_of("work wait wake start"))
_NO = (
    r"no (?!problem|prob\b|idea|doubt|way|wonder|worr|rush|hurry|need|matter|thanks|pressure|longer"
    r"|reason|question|\w+ (?:is|are|was|were|has|have)\b)"
)
_DO_NOT = r"(?:don't|do not) (?!know|have|need|think|mind|want|like|look|see|seem|even)"
_OPENING = lazy_pattern(
    r"^(?:(?:and|also|but|so|ok|okay|oh|well|then|hey|hi|please|pls|plz|just|first|second|third"
    r"|finally|anyway|honestly|actually|remember|y'all|aye|an'|yes|no|feel free to|in general"
    r"|from now on|in future|going forward|next time)[,:]? "
    r"|(?:for|if|when|whenever|while|where|whatever|wherever|as|because|since|unless|before|after"
    r"|until|once|in|on|at|every|each|next|hey|aye|quick) [^,:]{2,80}[,:] )+"
)
"""What may stand before the head of an order."""

_MOST_PARTS = 8
_PART = lazy_pattern(r",? (?:so|hence|therefore|but) |[;:,] ")

_ORDERS = any_of(
    # A verb stands first: a known one, or a word before an object.
    rf"^(?:do |don't |do not |dont |never |always |only )*{_VERBS}\b"
    r"(?! (?:you|me|us) (?:know|go|down)\b)",
    r"^(?!(?:what|how|that|with|not|even|just|who|when|all|both|half|thanks?|glad|sure|good|great"
    r"|nice|love|is|are|was|see|got|had|hope|wish)\b)[a-z-]+(?<!ed)(?<!ing) (?:the|an?|my|our"
    r"|your|any|all|every|each|no|it|them|me|us)\b",
    rf"^(?:don't|do not|dont|never|{_NO}|not (?!sure|only|surprised)|nothing|nobody|no one|none"
    r"|under no)\b",
    # It is said to the agent, or is the speaker's to want and to decide.
    r"\b(?:you|y'all) (?:can|may|should|must|need|have to|shouldn't|mustn't|can't|only|are to"
    rf"|always|never|{_DO_NOT}|might want)\b"
    r"|^(?:could|can|would|will) you\b|\bplease\b|\bif you would\b",
    r"^i(?:'d| would)? (?:only |just |really )?(?:want|need|expect|rather|prefer|like|require"
    r"|insist|appreciate)\b|\bi(?:'d| would)? (?:want|expect|need|like|appreciate it|prefer)\b"
    r"|\b(?:spare me|hands off|(?:careful|easy|light) with|will do|welcome here)\b",
    r"\b(?:for|by|to|through|past|with|important to) me\b|\bme (?:first|before)\b|\bmine\b"
    r"|\bmy (?:okay|ok|approval|sign-?off|permission|say-so|go-ahead|job|call)\b",
    # A thing is ruled.
    r"\b(?:must(?! (?:be|have))|must (?:be|have) (?:an?|in|the)|should|has to|have to|needs? to"
    r"|ought to|is to|are to|shall|needs? my)\b|\b(?:stays?|goes|go|gets?|waits?|happens?|runs?)\b"
    r"|\b(?:is|are) (?:a no-go|off|out|not|mine|for|only|never|banned|forbidden|allowed|fine"
    r"|plenty|enough|until|due|private|secret|confidential)\b|\bbelongs? to\b"
    r"|\b(?:isn't|aren't) to\b|\b\w+ i (?:sign|decide|handle|do|send|approve|write|make) myself\b",
)
"""How somebody is told to do something, or a thing is ruled."""

_GENERAL = any_of(
    r"\b(?:any(?! ?more)\w*|every(?! (?:day|year|night|morning|week|summer)\b)\w*|always"
    r"|never|ever|no one|nobody|none|nothing|whenever|whatever|whoever|wherever|nowhere"
    r"|throughout|permanently|in general|generally|by default|accordingly|from now on|in future"
    r"|going forward|next time|from (?:here|today) on|first)\b",
    r"\b(?:without|unless|until|till|before|only|exclusively|alone|except|as long as|instead of"
    r"|rather than|(?:if|when|where) (?:an?|you|it|they|people|the|someone|some|there|in doubt)"
    r"|mine|no-go|important to me|my (?:job|call|name|dialogue|okay|approval|sign-?off|say-so))\b",
    r"\b(?:at least|at most|max|maximum|minimum|tops|no more|no less|no later|within|up to|per"
    r"|(?:by|under|below|above|over) \d|(?:more|less|fewer) than|an? (?:day|week|month)"
    r"|to an? \w+)\b",
    rf"\b{_NO}\w+|\b(?:\w+[^s\W]s) (?:stay|go|have|need|must|should|are|get|wait)\b",
    # Things in the plural, or without an article.
    rf"^{_STANDING} (?!\S*\d)"
    r"(?!(?:the|this|that|it|them|these|those|him|her|me|us|you|an?|up|off|your)\b)",
    rf"^{_VERBS} (?:to |with |for |in |about |from |at )?"
    r"(?!this|his|its|us|yes|was|has|does)[a-z]{2,}s\b|^\w+s (?:in|with|as|to|from|on)\b",
)
"""What makes it hold for more than one occasion."""

_COMFORT = (
    r"(?! (?:worry|mind|know|think|get |give up|forget|hesitate|stress|sweat|you|even|miss|let|quit"
    r"|bother|be (?:shy|sad|sorry|afraid|scared|silly|hard|late|too|so|discouraged)))"
)
_FORBIDS = any_of(
    rf"^(?:don't|do not|dont|never|{_NO}|stop \w+ing)\b{_COMFORT}|,(?= (?:don't|never))"
    rf" (?:don't|never){_COMFORT}",
    r"\b(?:mustn't|must not|must never|may not|(?:is|are|'re) not to|(?:aren't|isn't) to"
    r"|not to be)\b",
    r"\bi(?:'d| would)? (?:rather|prefer|like) (?:it if )?you (?:\w+ )?(?:didn't|don't|not|never"
    r"|stop\w*)\b|\bi don't want (?:you|any)\b",
)
_ADDRESSED = any_of(
    r"^(?:spare me|hands off|careful with)\b",
    r"\b(?:you|y'all) (?:must|should|shouldn't|mustn't|can't|always|never"
    rf"|{_DO_NOT})\b|\bi (?:sign|decide|handle) \w*self\b",
    r"^i(?:'d| would) (?:appreciate|want|rather|prefer|insist)|^i(?: only| just)? (?:want|need"
    r"|expect) (?!to\b)|\bwill do[.!]?$|\bwelcome here\b"
    r"|\b(?:is|are) (?:private|secret|confidential)\b",
)
"""What needs no word of generality, unless it is done once."""

_SINGLE = lazy_pattern(
    rf"^(?:{one_of(ONE_OFF)}|go|let|have|do|take|look|tell|talk|invest|assume)\b"
    r"|^(?:could|can|would|will) |\bplease (?!\w+ )"
)
_OF_OTHERS = any_of(
    r"^(?:they|it(?!'?s? (?:is )?important to me)|he|she|we (?!never)|somebody|someone|people"
    r"|everyone|who)\b(?!'?s? (?:mine|has to be|only|must not))",
    r"^(?:my|our|his|her|their) (?:\w+ )?(?:sister|brother|mum|mom|dad|mother|father|wife|husband"
    r"|boss|friends?|landlord|kids?|son|daughter|team|teacher|doctor|neighbou?rs?|cat|dog"
    r"|colleague|school|company|predecessor)\b",
    r"^i (?!(?:only |just |really )?(?:want|need|expect|would|don't want|rather|prefer|like|require"
    r"|insist|should be))\w+|^i'(?:m|ve|ll)\b",
    r"^(?:you've|you're|you (?:never|always|got|know)|your|that|those|this|there)\b",
    r"\b(?:let's|let us|glad|proud|thanks|thank|wow|congrats|haha|lol|love how|dreams?|luck)\b|!$"
    r"|^(?:let me know|keep (?:up|going|it up|\w+ing)|not \w+)\b",
)
"""Whose doings are told, rather than ordered."""

_ONCE = any_of(
    r"\b(?:yet|after all|today|tomorrow|tonight|now(?! on)|this (?:one|time|once|week|draft|file"
    r"|morning|weekend|report)|that (?:draft|one|file)|never mind|don't worry|the (?:next|third"
    r"|first|last|second) \w+|just this|remind me|at (?:nine|ten|noon)|last \w+|the other)\b",
    r"まだ|今日(?!から)|明日|昨日|さっき|今回(?!から)|今夜|今晩|今週|来週|気にしないで|とりあえず|この一"
    r"|一度だけ|かな|らしい|(?:だ|た|る|い)そう(?:です|だ|$)|んです(?:よ|ね)?|もんだ",
)
"""What ties it to one occasion, or to hearsay."""

_REQUEST_JA = (
    r"(?:(?:くださ|下さ)[ーいませぇ]*|くれ(?:る|ます|ません|ない)?か?|(?:ほし|欲し)い?(?:です|んです)?"
    r"|(?:もら|いただ|頂)(?!い?(?:た|ました|って)[。]?$)\w*)"
)
_ORDERS_JA = any_of(
    rf"(?:て|で)(?:おいて|といて|やって|いて)?{_REQUEST_JA}?[やなねよー]*[。!…]*$",
    r"お願い|頼(?:む|み)|よろしく|配慮|遠慮|控え|避けたい|だけに|のみに|以下に"
    r"|(?:ない|なし|ず)(?:で|に)|(?:いら|要ら|いり|要り)(?:ない|ません)",
    r"(?:\wに|(?:約束|決まり|ルール|方針)(?:です|だ)?|(?:す|る|う|く|む)な|(?<![くはゃが])ない"
    r"|(?:させ|認め|受け付け)ません|する|書く|避ける|回す|使う|入れる|出す|残す|守る|通す"
    r"|(?:私|俺|僕|自分)[がで][ぁ-ん一-龠]{1,4}[うくすつぬむるぐぶ])[。!]?$",
    r"(?:こと|もの|ように|とする|まで|のみ|だけ|以内|以下|禁止|厳禁|必須|固定|統一|専用|不可|なし|だめ"
    r"|ダメ|ng)(?:で|です|とします|とする|にします|や|ね|よ|だ|、うちでは|に|を)*[。!]?$",
)
_GENERAL_JA = any_of(
    r"必ず|かならず|常に|毎[回度週月日晩朝]|いつも|絶対|決して|一切|今後|これから|以後|以降|今日から|原則"
    r"|基本|なるべく|できるだけ|極力|すべて|全部|全て|あらゆる|どんな|いかなる|どれも|誰[にも]|かかわらず"
    r"|問わず|勝手に",
    r"だけ|のみ|しか|以内|以下|以上|まで(?!の)|最低|最大|上限|禁止|なし|ない|ません|せん|ずに|なく|無断"
    r"|先に|前に|てから|固定|統一|で通|避け|控え|遠慮|配慮|呼ん|[するう]な",
    r"とき|時は|際|場合|たら|れば|には|では|[のともこ]は|ごと|たび|都度|ずつ|[はもに]、|^[^、。]{1,15}は",
)
_NO_ORDER_JA = any_of(
    r"(?:見つから|わから|分から|でき|足り|知ら|い|出|行け|払え|待て)ない[。!]?$",
)
_FORBIDS_ELSEWHERE = any_of(
    r"不要|不得|必须|必須|一律|不许|别(?!人)|先问",
    r"지 ?(?:말|마)|(?:항상|반드시|꼭|앞으로).*(?:세요|십시오|주세요|줘)|금지",
    r"\b(?:не \w+(?:й|йте|ть)|нельзя|обязательно|только|запрещ\w+|всегда)\b",
    r"لا ت|يجب|ممنوع|من الآن|दें|करें|मत |हमेशा|ज़रूर",
    r"\bno (?:me |le |les |nos |lo |la )?\w+(?:es|as)\b(?=.* (?:que|el|la|los|las|nada|sin|con|en"
    r"|de|ni|por) )|\b(?:nunca|jamás|siempre)\b|\bne .*\b(?:pas|jamais)\b",
    r"\b(?:niemals|keine?n?|ab sofort|künftig|immer|nie|nur|bitte nicht)\b",
)
_SPEAKER_ELSEWHERE = any_of(
    r"^(?:我|저는|나는|я |мы |أنا|نحن|मैं|हम |yo |ich |wir |je |nous )|amos\b|\bich\b",
)

_TAG = lazy_pattern(r",? (?:(?:ya |you )?hear|mind|yeah|okay|ok|please|right|got it)\?+$")
_ASIDE = lazy_pattern(r"\([^()]*\)$")
_WISH = lazy_pattern(r"\b(?:i|we)(?:'d| would) (?:like|prefer|rather|love|appreciate)\b")
_WISH_JA = lazy_pattern(
    r"[てで](?:ほし|欲し|もらい|もらえ|いただき|いただけ|頂き|頂け)|お願いし|存じ"
)
_ASKS_POLITELY = lazy_pattern(
    r"^(?:so |and |ok |please )?(?:could|can|would|will|shall) (?:you|we|the|my|it|that)\b"
    r"(?!.*\b(?:tell|check|if|whether|why|how|remind|explain|find|look|show)\b)"
)
_ASKS_POLITELY_JA = lazy_pattern(r"(?:もらえ|いただけ|頂け|くれ)(?:ます|ません|る|ない)")
_ENDS_IN_ORDER_JA = lazy_pattern(
    r"(?:くださ|下さ|くれ|ほしい|欲しい|ないで|[いきしちりえけせてねべめれげ]て|んで|こと)[いー。!]*$"
)
_SAYING_OF_ONES_OWN = lazy_pattern(
    r"\b(?:you|i|we|who|to|please) (?:show|claim|put|say|said|tell|told|report|note|state|suggest"
    r"|recommend|ask|feel|think|read|want)\b|\b(?:every|each|any|all|no|the|an?|of) (?:claim|report"
    r"|note|state|order|demand|show)s?\b"
)
"""Verbs of saying that report nobody's words."""


def may_be_rule(clause: str) -> bool:
    """Whether somebody may lay down with it what holds for more than one occasion."""
    if is_bound_to_once(clause):
        return False
    if language_of(clause) == "ja":
        text = _ASIDE.sub("", clause).rstrip("。.!！ ")
        ordered = _ORDERS_JA.search(text) and not _NO_ORDER_JA.search(text)
        return bool(_forbids_elsewhere(clause) or (ordered and _GENERAL_JA.search(text)))
    parts = (clause, *_PART.split(clause, _MOST_PARTS)[1:])
    general = bool(_GENERAL.search(clause))
    return _forbids_elsewhere(clause) or any(_orders(part, general=general) for part in parts)


def is_bound_to_once(clause: str) -> bool:
    """Whether it speaks of one occasion, or repeats what is heard."""
    return bool(_ONCE.search(clause))


def tells_of_others(sentence: str) -> bool:
    """Whether it states something about others, which only sounds like a rule."""
    return sentence.startswith(("they ", "it ", "it's ", "he ", "she ")) or "must have" in sentence


def is_stated(sentence: str) -> bool:
    """Whether it is no question and nobody's report or guess; polite requests are neither."""
    return not (is_reported(sentence) or is_supposed(sentence) or is_question(sentence))


def is_question(sentence: str) -> bool:
    """Whether it asks something, rather than for something."""
    if language_of(sentence) == "ja":
        return mood_ja.is_question(sentence) and not _ASKS_POLITELY_JA.search(sentence)
    text = _TAG.sub("", sentence).replace("؟", "?")
    return mood_en.is_question(text) and not _ASKS_POLITELY.search(text)


def is_reported(sentence: str) -> bool:
    """Whether it gives somebody else's words."""
    if language_of(sentence) == "ja":
        return mood_ja.is_reported(sentence) and not _ENDS_IN_ORDER_JA.search(sentence)
    return mood_en.is_reported(_SAYING_OF_ONES_OWN.sub(" ", sentence))


def is_supposed(sentence: str) -> bool:
    """Whether it is a supposition or a guess; a wish of the speaker's is none."""
    if language_of(sentence) == "ja":
        return mood_ja.is_supposed(sentence) and not _WISH_JA.search(sentence)
    return mood_en.is_supposed(_WISH.sub(" ", sentence))


def _forbids_elsewhere(clause: str) -> bool:
    """Whether it forbids in one of the other languages."""
    return bool(_FORBIDS_ELSEWHERE.search(clause)) and not _SPEAKER_ELSEWHERE.search(clause)


def _orders(part: str, *, general: bool) -> bool:
    """Whether a part of an English clause orders something, and the clause or it in general."""
    text = _OPENING.sub("", part)
    if _FORBIDS.search(text):
        return True
    if _OF_OTHERS.search(text) or mood_en.is_past(text):
        return False
    ordered = _ORDERS.search(text) or _ORDERS.search(part)
    standing = _ADDRESSED.search(text) and not _SINGLE.search(text)
    return bool(ordered) and (general or bool(standing or _GENERAL.search(text)))
