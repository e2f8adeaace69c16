"""Words that release or amend a rule, and the moods in which they do not. Normalised text."""

import re

from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.patterns import any_of, lazy_pattern
from acc_ace.core.text.rules import mood_en, mood_ja

_NOUN_EN = (
    r"(?:rules?|bans?|freeze|restrictions?|constraints?|limits?|limitations?|caps?"
    r"|embargo(?:es)?|requirements?"
    r"|prohibitions?|moratorium|polic(?:y|ies)|lockdown|block|hold|ceiling|quota|obligation|thing)"
)
_NOUN_JA = (
    r"(?:禁止|制約|ルール|規則|制限|凍結|上限|規制|方針|決まり|口外無用|義務|必須|指示|条件|縛り"
    r"|フリーズ)"
)
_END_EN = (
    r"(?:lift|drop|remove|cancel|revoke|rescind|waive|scrap|release|forget(?: about)?|repeal"
    r"|abolish|retire"
    r"|withdraw|void|suspend|end|undo|delete|discard|ditch|disregard|retract|nullify|unpin|clear"
    r"|get rid of)"
)
_ENDED_EN = (
    r"(?:lifted|dropped|removed|cancell?ed|revoked|rescinded|waived|scrapped|released|repealed"
    r"|abolished|retired"
    r"|withdrawn|voided|void|suspended|ended|over|gone|off|off the books|off the table|history"
    r"|done|finished"
    r"|obsolete|no more|retracted|expired|not in (?:force|effect)|out of (?:force|effect))"
)

ENDS_RULE = any_of(
    r"^(?:please |ok |okay |so |actually,? |now |you can |you may |let's |i |we |i'm |we're "
    r"|i am |we are |hereby |also |and |now )*"
    rf"(?:{_END_EN}|lifting|dropping|removing|cancell?ing|revoking|rescinding|waiving|scrapping"
    r"|releasing|withdrawing"
    rf"|retiring|ending|retracting)\b(?=.*\b{_NOUN_EN}\b)",
    rf"\b{_NOUN_EN}\b.*\b(?:is|are|has been|have been|'s) (?:now |hereby |officially |finally "
    rf"|all )*{_ENDED_EN}\b",
    rf"\b{_NOUN_EN}\b.*\b(?:no longer|doesn't|does not|don't|do not) (?:applies|apply|hold|holds"
    r"|count|counts|stand|stands|matters?|in (?:force|effect)|needed|needs? to be)\b",
    rf"\bthere(?:'s| is| are) no (?:more )?(?:\w+ )*{_NOUN_EN}\b.*\b(?:any ?more|any longer"
    rf"|now)\b|\bthere(?:'s| is| are) no longer (?:an? )?(?:\w+ )*{_NOUN_EN}\b",
    rf"\bno more (?:\w+ )*{_NOUN_EN}\b|\bno longer have (?:an? |the )?(?:\w+ )*{_NOUN_EN}\b",
    rf"\b(?:done|finished) with (?:the )?(?:\w+ )*{_NOUN_EN}\b",
    rf"\b{_NOUN_EN}\b.*\bcan (?:now |finally )?(?:go|be {_ENDED_EN})(?: now| too)?[.!]*$",
    rf"{_NOUN_JA}.*(?:解除|撤廃|撤回|廃止|取り消|取消|取りやめ|やめ(?:ます|て|に)|忘れて|外し"
    r"|なくし|なくなりました|終わり|終了|不要|無効|失効|適用(?:され|し)(?:ません|ない|なく)"
    r"|解かれ|解け|なし(?:に|で|と)|解禁|緩和|(?:は|を)?(?:もう)?(?:ありません"
    r"|ない(?:です)?[。]?$))",
    r"(?:解除|撤廃|撤回|廃止|取り消し|取消)(?:し|です|とし|に)",
)
"""Whether it ends something that it calls a rule, a ban, a limit, …"""
PERMITS = any_of(
    r"\byou (?:may|can|could) now\b|\byou (?:may|can)\b.*\b(?:now|again|from now on"
    r"|going forward)\b",
    r"\b(?:is|are|it's|that's|be) (?:now )?(?:allowed|permitted|ok|okay|fine|acceptable)"
    r"\b.*\b(?:again|now|from now on|going forward)\b",
    r"\b(?:is|are|it's) now (?:allowed|permitted|ok|okay|fine|acceptable)\b|\b(?:allowed"
    r"|permitted|fine|ok|okay|welcome) again\b",
    r"\b(?:feel free|(?:are|you're) (?:now )?(?:free|allowed|welcome|permitted)) to\b.*\b(?:now"
    r"|again|from now on|going forward|any ?more)\b|\byou(?:'re| are) now (?:free|allowed"
    r"|welcome|permitted) to\b",
    r"\b(?:i|we) (?:now |hereby )?(?:allow|permit|authori[sz]e) (?:you to |the |\w+ing)\b",
    r"\b(?:may|can) be \w+ed\b.*\b(?:again|now|from now on)\b",
    r"(?:(?<=[しっいきりてえけせめべれげねびちみに])て|(?<=[んい])で)も(?:いい|良い|よい"
    r"|よろしい|構わない|構いません|かまわない|かまいません|大丈夫|結構|問題ありません|問題ない"
    r"|ok)",
    r"(?:し|っ|行っ|使っ|送っ)て(?:いい|良い|よい|よろしい|構わない|構いません|かまわない|かまいません)"
    r"(?:です|こととします|ことにします|ものとします)?(?:よ|ね)?[。.!]*$",
    r"(?:許可|解禁|許容|容認)(?:します|する|し(?:た|ました)|です|とします|しましょう"
    r"|となりました|になりました)",
)
"""Whether it permits again what was forbidden: "you may now …", 〜してもよい."""
EXCUSES = any_of(
    r"\byou(?:'re| are)? (?:no longer (?:need|have|required|obliged|bound|forbidden|prohibited"
    r"|barred)|don't (?:need|have) to|needn't|need not|do not (?:need|have) to|are not required"
    r"|aren't required)\b",
    r"(?:なくて|なくても|ないで)(?:も)?(?:いい|良い|よい|よろしい|構|かまい|大丈夫|結構|済|すみ)",
    r"不要|必要(?:は|が)?(?:もう)?(?:ない|ありません|なくな)|(?:いりません|要りません|いらない"
    r"|要らない|いらなく)",
)
"""Whether it excuses from what was required: "you no longer need to …", 〜しなくてよい."""
DENIES = any_of(
    r"\b(?:no longer|not|n't) (?:need\w*|require\w*|forbidden|prohibited|banned|frozen"
    r"|off[- ]limits|mandatory|confidential|embargoed|restricted|limited|capped|necessary)\b",
    r"\b(?:is|are) no longer (?!the\b|there|sure|able|available)\w+|\bunfro[sz]en\b"
    r"|\bun(?:banned|blocked|restricted|frozen)\b|\b(?:isn't|aren't|don't|doesn't"
    r"|not)\b.*\b(?:any ?more|any longer)\b",
)
"""Whether it says that what a rule states is so no longer: "prod isn't frozen any more"."""
AMENDS = any_of(
    rf"\b{_NOUN_EN}\b (?:moves|shifts|extends|rises|drops|falls|goes (?:up|down)) to\b"
    rf"|^(?:please )?make the [\w ]*{_NOUN_EN} .*\d",
    r"^(?:please |ok |okay |so |now |let's |i |we |i'm |we're )*(?:rais|increas|lower|reduc"
    r"|chang|extend|mov|updat|amend|adjust|bump|cut|shorten|relax|tighten|switch|modify|modif"
    r"|push|revis|replac|set)\w*\b.*\b(?:to|by|with|until|:)",
    r"\b(?:is|are) (?:now|from now on) (?:\w+ ){0,2}[$€£¥]?\d",
    r"\binstead of\b|, not \S+|\brather than\b.*\b(?:now|from now on)\b",
    r"\b(?:is|are|has been|have been) (?:now )?(?:raised|increased|lowered|reduced|changed"
    r"|extended|moved|updated|amended|adjusted|cut|shortened|set) to\b",
    r"(?:変更|引き上げ|引き下げ|引上げ|延長|短縮|修正|改め|緩め|厳し|変え|見直し|更新|上げ|下げ"
    r"|増やし|減らし|増額|減額|切り替え)(?:て|で)?(?:します|する|しました|ます|てください"
    r"|ください|です|となり|とし|にし|に(?:なり|変)|$)",
    r"ではなく",
)
"""Whether it puts another value or wording in the place of one."""
TEMPORARY = any_of(
    r"\b(?:just|only) (?:this|for|once|today|now)\b|\bthis (?:once|one time|time only)\b"
    r"|\b(?:one|this) time\b|\b(?:today|tonight|temporarily|one-off)\b"
    r"|\bfor (?:now|an? |the next|\d|one |two )|\b(?:until|till|except|unless|except for"
    r"|apart from)\b|\bonce\b(?=[.!]?$)"
    r"|\bappl(?:y|ies) to (?:me|us|him|her|them|you|it|this|these|those)\b",
    r"今日(?:だけ|のみ|は)|今回(?:だけ|のみ|は|に限)|一度だけ|一回だけ|一時的|とりあえず|当面"
    r"|今だけ|まで(?:は)?(?=.*(?:許可|いい|よい|解除))|以外|を除い",
)
"""Whether it holds for a time or with exceptions only; the rule stays."""
WILDCARD = any_of(
    r"\b(?:all|any|every|everything|whatever|each|no|previous|prior|earlier|these|those"
    r"|other)(?: of)?(?: the| my| your| our| previous| prior| earlier| other| these| those)*"
    r" (?:rules?|restrictions?|constraints?|instructions?|limits?|bans?|polic(?:y|ies)"
    r"|guidelines?|i said|requirements?|directives?)\b",
    r"\bforget (?:everything|your (?:instructions|rules)|all|what i said)\b"
    r"|^(?:please )?(?:ignore|disregard|forget|drop|remove|lift|cancel) (?:the |your |my "
    r"|our )?(?:rules|restrictions|constraints|instructions|limits|guidelines)(?: and\b.*)?[.!]?$",
    r"(?:すべて|全て|全部|あらゆる|これまで|今まで|以前|前)の?.{0,6}(?:指示|制約|ルール|規則"
    r"|制限|禁止|条件)",
    r"(?:指示|制約|ルール|規則|制限|禁止|条件).{0,3}(?:すべて|全て|全部|一切|なんか|など)",
)
"""Whether it speaks of all rules at once, which releases none."""
_SPEAKER_LABEL = lazy_pattern(
    r"^@?(?!(?:note|please|update|decision|fyi|change|release|amend|ok|okay|new|important"
    r"|correction|revised?|now|budget|policy|rule|constraint)\b)"
    r"[\w.'-]{1,20}(?: [\w.'-]{1,20})?: ?\S"
)

_UNSAID_JA = any_of(
    r"(?:解除|撤廃|撤回|廃止|取り消|取消|許可|解禁|忘れ|変更|やめ|外さ)(?:し|さ|は"
    r"|を)?(?:し)?(?:ない|ません|ないで|なく|てはいけ|ては(?:なら|だめ))|解除(?:は)?(?:まだ"
    r"|不可)|まだ|引き続き|継続|わけでは(?:ない|ありません)"
    r"|(?:ては|では)(?:いけ|なら|だめ)|忘れないで|ままです|変わりません"
    r"|(?:解除|撤廃|撤回|廃止|取り消し|取消|許可|解禁|変更)(?:を|は|が|も)?(?:禁止|不可|厳禁|却下|拒否"
    r"|でき(?:ない|ません|ず|なか)|(?:さ|し)(?:れ)?(?:て(?:は|も)?(?:い)?(?:ない|ません|なか))"
    r"|(?:さ)?れ(?:ない|ません|なか)|するな|す(?:る)?べきで(?:は)?(?:ない|ありません|なく)"
    r"|するわけ|するつもりは|なし|予定|見込み|待ち|申請|依頼中|検討|要望|未定|拒)"
    r"|(?:わけ|はず|つもり)(?:が|は|も)?(?:ない|ありません)|べきで(?:は)?(?:ない|ありません)",
    r"(?:解除|撤廃|撤回|廃止|取り消し?|取消|許可|解禁|変更)(?:を)?(?:する|した|される|された|の)?"
    r"(?:手順|方法|やり方|権限|条件|時期|日程|理由|根拠|可否|是非|影響|必要|件|案|話|メール|通知"
    r"|お知らせ|予定|場合|際|とき|時|前に|と(?!し|な|の)|と、)",
    r"(?:たら|だら|れば|ければ|次第|場合(?:は|に|のみ)|(?:た|る)(?:とき|時|後|なら)(?:は|に|、)?"
    r"|もし|仮に|うえで|上で|限り)",
)
"""Denied, conditional, or the end of a rule as a topic: how, when, whether; nothing is ended."""


_UNSAID_EN = any_of(
    r"\b(?:do not|don't|never|not|won't|will not|can't|cannot|isn't|aren't|wasn't|haven't|hasn't"
    r"|didn't|refuse to|no intention|nobody|no one)"
    r" (?:\w+ ){0,3}?(?:lift|drop|remov|cancel|revok|rescind|waiv|scrap|releas|forget|repeal"
    r"|abolish|withdraw|suspend|end|over\b|gone\b|off\b"
    r"|lifted|allow|permit|may|ok|okay|fine|chang|rais|disregard|done|finished|ignor)",
    r"\b(?:still|remains?|not yet|yet to|must not|may not|keep the|stays?|no reason to"
    r"|too early)\b|\bnot over\b"
    r"|(?:\.\.+|,|-) ?(?:not|no|my foot|yeah,? right|as if|right|correct|isn't it|is it)[.!]*$",
    r"^(?:please |and |then |also )*(?:summari[sz]e|translate|rewrite|proofread|explain"
    r"|analy[sz]e|correct|classify"
    r"|parse|repeat|write|draft|say|tell|post|announce|reply|respond|email|message|send|quote"
    r"|print|echo|type|let \w+ know|inform|remind)\b",
    r"\b(?:seems?|looks? like|sounds? like|appears?|i (?:think|believe|guess|assume|hope|wish"
    r"|wonder|suppose|feel|doubt|expect))\b",
    r"\b(?:i|we|you|someone|they) (?:should|need to|have to|must|want to|plan to|will|could"
    r"|intend to|would)\b|\b(?:i|we|they|it)'ll\b|\bgoing to\b",
    r"\b(?:discuss\w*|consider\w*|propos\w*|request\w*|vote\w*|debat\w*|thinking (?:about|of))\b",
    r"\b(?:tomorrow|next (?:week|month|year)|later|soon|eventually|some day)\b",
)
"""Denied, or merely talked of."""


def allows_by_word(sentence: str) -> bool:
    """Whether the permission says "allowed", which no mere news does ("prod is fine again")."""
    return bool(re.search(r"\b(?:allow|permit|authori[sz]e)(?:ed|ted|d)?\b", sentence))


ENDS_BY_NAME = any_of(
    rf"\b{_END_EN}\b|\b(?:lifting|dropping|removing|releasing|cancell?ing|revoking|waiving)\b"
    rf"|\b(?:is|are) (?:now )?{_ENDED_EN}\b"
    r"|\bno longer (?:applies|apply|needed|valid|required|in force|holds?)\b",
    r"\bcan (?:now )?go(?: now| too)?[.!]*$|\b(?:isn't|is not) needed any ?(?:more|longer)\b",
    r"解除|撤廃|撤回|廃止|取り消|取消|不要|解禁|外して|忘れて|なしで|いらない|いりません|要らない|要りません",
)
"""Whether a sentence that names a constraint by id ends it."""


def is_unsaid(sentence: str) -> bool:
    """Whether the cue is asked, reported, supposed, conditional or denied: nobody released."""
    if language_of(sentence) == "ja":
        return (
            mood_ja.is_question(sentence)
            or mood_ja.is_reported(sentence)
            or mood_ja.is_supposed(sentence)
            or bool(_UNSAID_JA.search(sentence))
        )
    return (
        mood_en.is_question(sentence)
        or mood_en.is_reported(sentence)
        or mood_en.is_supposed(sentence)
        or mood_en.is_conditional(sentence)
        or bool(_UNSAID_EN.search(sentence) or _SPEAKER_LABEL.search(sentence))
    )


TAKES_BACK = any_of(
    r"^(?:oh|no|nah|hmm|er|sorry|actually|but)?[,.!]? ?(?:wait\b|hold on|scratch that|never ?mind"
    r"|on second thoughts?|(?:just |only )?(?:kidding|joking)|jk\b|not really|strike that"
    r"|i take (?:that|it) back|undo that|cancel that|forget (?:that|it|i said)|keep it\b"
    r"|don't\b[.!]*$|do not\b[.!]*$|don't do (?:that|it)|i changed my mind|that was a joke"
    r"|i was (?:just |only )?(?:kidding|joking))",
    r"^(?:not|no|nope)[.!]*$|^no,? (?:don't|do not|keep|wait|actually)",
    r"^actually,? (?:no|don't|keep)",
    r"^(?:やっぱり|やっぱ|やはり|いや|いえ|待って|ちょっと待|冗談|嘘|うそ|なんて)",
    r"^今のは?(?:なし|取り消)",
)
"""Whether it takes back what was said just before: "no wait, keep it", 「やっぱりやめます」."""

_BEFORE_NEW_VALUE = lazy_pattern(
    r"\b(?:to|is now|are now|is from now on|until|till|by|with|moves to)\b|: |[はを]|(?=[$€£¥]\d)"
)
_OLD_VALUE = lazy_pattern(r"(?:\binstead of\b|, not\b|\brather than\b)(?P<old>.*)")


def amended_parts(sentence: str) -> list[str]:
    """The parts of an amendment that name what is amended: its subject, and the old value."""
    subject = _BEFORE_NEW_VALUE.split(sentence, maxsplit=1)[0]
    old = _OLD_VALUE.search(sentence)
    return [subject, *([old.group("old")] if old else [])]
