"""Whether an English clause states a rule. Takes normalised text.

A clause is looked at in this order: idioms and other people's words are no rule; words that only
a rule has ("from now on", an order with "never") make one whatever else is said; what is past or
about the speaker alone is no rule; the remaining shapes of policy decide.
"""

import re

from acc_ace.core.text.patterns import any_of, lazy_pattern, one_of
from acc_ace.core.text.rules import mood_en
from acc_ace.core.text.rules.verbs_en import CHAT, ONE_OFF, PARTICIPLES, WORK

_WORK = one_of(WORK)
_STANDING_WORK = one_of(WORK - ONE_OFF)
_DONE = one_of(PARTICIPLES)
_BREAK = r"(?:^|[,;:(\-]\s*|\b(?:so|and|but|then|please|therefore|hence) )"
_OPENERS = lazy_pattern(
    r"^(?:(?:please|ok|okay|also|and|but|so|then|well|hey|hi|hello|thanks|thank you|note that|note"
    r"|important|reminder|remember|just|kindly|again|btw|by the way|fyi|one more thing"
    r"|for the record"
    r"|first|second|third|finally|lastly|that said|however|still|anyway|besides|in addition"
    r"|additionally|as (?:a reminder|discussed|agreed|i said|always)|(?:we|it is"
    r"|it's) agreed(?: that)?|rule(?: \d+)?|team|everyone"
    r"|whatever happens|no matter what|remember that|keep in mind that|keep in mind|be aware that"
    r"|heads[- ]up|per \w+|on my team|in this project|for this project|for compliance|by policy)"
    r"(?:[,:!.] ?| - | ))+(?=\S)"
)
_ADJUNCT_BEFORE = lazy_pattern(
    r"^(?:if|when|whenever|while|once|after|before|because|since|although|though|as|unless|until"
    r"|for|during|given|in case|as long as|outside|without|on|in|at|between|within|with)\b[^,]*, ?"
)
_ADJUNCT_AFTER = lazy_pattern(
    r",? \b(?:if|when|whenever|while|once|because|since|although|though|unless|until|till|before"
    r"|after|as long as|even if|in case|so that)\b (?!further notice).*$"
)

_SUBJECT_WORDS = (
    r"(?:(?!\b(?:and|but|so|or|because|since|as|while),? (?:i|we|they|you|he|she|it)\b)"
    r"[\w\"'%$,\- ])"
)
"""Characters of a subject: none of another clause's ("…, and we need to restore it")."""

_UNIVERSAL = (
    r"(?:every|each|all|any|anything|anyone|anybody|anywhere|always|whenever|everything|everyone"
    r"|exclusively|at all|ever|no one|nobody)"
)
_STANDING = (
    r"(?:from now on(?:wards?)?|going forward|moving forward|from here on(?: out)?|from this point"
    r"|from today(?: on)?|in (?:the )?future|henceforth|hereafter|starting (?:now|today|tomorrow)"
    r"|until (?:i (?:say|tell)|further notice|told)|for the (?:rest|remainder|duration) of"
    r"|at all times"
    r"|under no circumstances|under any circumstances|at no (?:point|time|stage)|no exceptions?"
    r"|without exception|as a rule|unless (?:i|we|it'?s|they|he|she|otherwise|explicitly|told"
    r"|someone)"
    r"|by default|every (?:single )?time|each time|on every|in every|in all|in each|for every"
    r"|for each"
    r"|for all|in any|no matter|as long as|whenever|as a matter of policy)"
)
_NUMBER = (
    r"(?:[$€£¥]? ?\d[\d.,]*|\b(?:a|one|two|three|four|five|six|seven|eight|nine|ten|twelve"
    r"|twenty|fifty|hundred)\b)"
)
_AT_MOST = (
    r"(?:no (?:more|less|fewer|longer|later) than|at most|at least|not? (?:to )?exceed|up to"
    r"|max(?:imum)?"
    r"|under|below|within|fewer than|less than|more than|over|above|beyond|minimum)"
)
_NO_MORE = r"(?:no|not) (?:more|fewer|less|longer|later) than"
_COUNTED = r"(?:(?!(?:and|but|so|is|are|was|were|can|will|could|came|left)\b)[\w'-]+ )"
_PER = (
    r"(?:per|each|every|for (?:each|every|any)|in (?:each|every|any|one|a|an)"
    r"|at (?:once|a time|any)|on (?:each|every|any|one)"
    r"|an? (?:second|minute|hour|day|night|week|month|year|request|call"
    r"|person|user|customer|file|page))"
)
_AMOUNTS = (
    r"(?:words|sentences|lines|characters|bullets|bullet points|paragraphs|retries|attempts"
    r"|requests|deploys|deployments|calls|queries|items|options|examples|reviewers|approvers)"
)
_LEFT = r"\b(?:left|to go|remain|remaining|ago|away|i think|i guess)\b"
"""What tells an amount as news: "no more than an hour a day left"."""

_PRONOUN = r"(?:i|he|she|it|that|there|this|who|they|we|someone|somebody)"

_IDIOM = any_of(
    r"\bnever mind\b|\byou never know\b|\bbetter late than never\b|^not only\b|\bnow or never\b",
    r"\b(?:can't|cannot|can not|couldn't) (?:wait|believe|thank|imagine|help|stand|complain|say"
    r"|remember|stop"
    r"|argue|go wrong|lie|seem|tell you|blame|be (?:serious|right|true)|agree more|stress"
    r"|recommend|get enough)\b",
    r"\bmust (?:be (?:nice|fun|hard|tough|tired|kidding|joking|great|amazing|so|very|really"
    r"|exciting|lovely|a )"
    r"|(?:say|admit|confess|feel|mean|know|love|like|hurt)\b)",
    r"\b(?:don't|do not) (?:get me wrong|you (?:think|dare|love|just|agree)|mind (?:me|if)|know"
    r"|want to be|even (?:know|get me))\b",
    r"^no (?:problem|worr|way|doubt|idea|thanks|thank|rush|hurry|need|one else|matter|offen[cs]e"
    r"|wonder"
    r"|kidding|pressure|luck|pain|big deal|more |longer|clue|reason|sign|news|change|luck|biggie"
    r"|shame|joke"
    r"|judg|stress|regrets|excuses|idea|question|guts|bother|harm)",
    r"\b(?:has|have) to admit\b|\bnever (?:say never|ceases?|fails? to|gets? old|too late|been"
    r"|a dull)\b",
    r"\balways (?:been|nice|good|great|fun|a|an|the|so|there|here|wanted|happy|remember|loved"
    r"|down)\b",
)
_RELEASES = any_of(
    r"\b(?:no longer|not|n't)\b.*\b(?:any ?more|any longer|needed|required|necessary|apply"
    r"|applies)\b",
    r"\bno longer (?:need|have|must|require|banned|frozen|forbidden|in force|off|apply|applies"
    r"|restrict\w*|limited)\b",
    r"\b(?:lift|drop|remove|cancel|revoke|rescind|waive|scrap|release|forget|repeal"
    r"|abolish)\w* (?:\w+ ){0,6}"
    r"(?:rule|ban|freeze|restriction|constraint|limit|cap|embargo|policy|requirement|c-\d+)\b",
    r"\b(?:rule|ban|freeze|restriction|constraint|limit|cap|embargo|policy|requirement|moratorium"
    r"|lockdown|hold)s? (?:is|are) (?:now |soon |finally )?to be (?:lifted|dropped|removed"
    r"|cancell?ed|revoked|rescinded|waived|scrapped|released|repealed|abolished|ended|withdrawn"
    r"|suspended|relaxed)\b",
    r"\b(?:allowed|permitted|ok|okay|fine) again\b|\b(?:feel )?free to\b|\bdon't (?:need"
    r"|have) to\b",
)

_ORDER_AGAINST = any_of(
    rf"{_BREAK}(?:please )?(?:never ever|never|do not ever|don't ever|do not|don't"
    r"|dont)(?:,[^,]*,)?"
    rf" (?:even |directly |ever |again |you |under \w+ circumstances )*{_WORK}\b",
    rf"{_BREAK}(?:please )?(?:never|do not|don't) (?!{one_of(CHAT)}\b)\w+\b.*\b(?:{_UNIVERSAL}"
    r"|without|until|unless"
    r"|before|after|during|between|on \w+days?|outside|over|above)\b",
    r"\b(?:i|we) (?:do not|don't) (?:ever )?want (?:you|any|anyone|anybody|anything|the|this|my"
    r"|our) .*\b(?:to|\w+ed|in|on)\b",
    r", never (?:the |an? )?\w+[.!]?$",
    rf"^not? {_WORK}ing\b|^no \w+ing (?!to (?:do|worry))\w+",
    rf"^stop {_WORK}\w*ing (?!(?:the|this|that|it|by)\b)",
    r"^(?:refrain from|abstain from|avoid \w+ing|avoid (?:any|all|the (?:word|phrase|use|term))"
    r"|stay (?:away from|out of|off) (?:the|my|our|all|any|anything)"
    r"|steer clear of|hands off|keep (?:off|out of|away from|your hands off))\b",
    r"^leave (?:the |my |our |all |any |every |this |that )?[\w\- ]{2,40} (?:alone|untouched"
    r"|as (?:it is|they are|is)|unchanged|intact)\b",
    r"\bunder no circumstances\b|\bat no (?:point|time|stage)\b|\bon no account\b|\bin no case\b",
)
_ORDER_STANDING = any_of(
    rf"{_BREAK}(?:please )?(?:always|exclusively) (?:\w+ly )?(?:{_WORK}|be (?:polite|formal"
    r"|brief|explicit|clear|concise)|double|have|get)\b",
    rf"{_BREAK}(?:please )?only (?:ever )?{_WORK}\b",
    rf"\b{_STANDING}(?: [^,]*,|,)? ?(?:please )?\b(?:{_WORK}|be|do|don't|never|always|no|you)\b",
    rf"{_BREAK}(?:please )?(?:{_WORK}|be|do)\b.*\b{_STANDING}\b",
    rf"\bi(?:'d| would) (?:like|prefer|rather|appreciate|want|love)\b.*\byou\b.*\b(?:{_STANDING}"
    r"|always|never|only|not|every|each|any)\b",
    r"\bi (?:want|need|expect|require|prefer|ask) (?:you|all|every|each|everyone|everything"
    rf"|any) .*\b(?:{_STANDING}|always|never|only|not|every|each|any|before|to be {_DONE}|in)\b",
    r"^i (?:forbid|prohibit|insist on|require|expect|prefer (?:that |short|long|brief|concise"
    r"|formal|informal|plain|answers|repl|emails|it if you))\b",
)
_ORDER_OVER_ALL = any_of(
    r"^(?:please )?(?:write|send|format|name|answer|print|report|create|submit|file|save|label) "
    r"(?:all|every|each|any)\b.*\b(?:in|as|with|to|under|using)\b",
    rf"^(?:please )?(?!keep \w+ing){_STANDING_WORK}\b.*\b{_UNIVERSAL}\b"
    r"(?! (?:the |these |those |of (?:them|it) ?)?(?:now|today|at once))",
    r"^(?:please )?(?:do (?:the|a)|make a|take a|run (?:the|a)|write a|create a|get|log|ask"
    r"|send|check|back up|test) .*\b(?:before|after|for|on|with|in) (?:every|each|any|all)\b",
    r"^(?:please )?(?:make (?:absolutely )?sure|be (?:absolutely )?sure|see to it|ensure"
    rf"|remember|take care|be careful|try|do try|don't forget)\b.*\b(?:{_UNIVERSAL}|never|no|not"
    r"|none|nothing|only|before|without)\b",
    r"^(?:please )?(?:ask|check with|consult|notify|tell|warn|inform|alert|confirm with"
    r"|clear .{1,30} with|run .{1,30} by|get .{1,30} from)\b.*\bbefore (?:you )?(?:\w+ing"
    r"|touch|any|each|every|mak|send|chang|do )",
    r"^(?:please )?(?:use|cite|suggest|recommend|work|deploy|contact|trade|quote|store|accept"
    r"|answer|reply|respond|speak|write|rely|invest|stick)\b.*\bonly\b",
    r"^only \w+ (?:from|in|on|with|using|that)\b(?!.*\b(?:is|are|was|were|has|have)\b)",
    r"^(?:please )?(?:limit|restrict|confine|cap) (?:yourself|your|the|all|every|each|any"
    r"|answers|replies|spending|\w+s)\b",
    r"^(?:please )?(?:stick (?:to|with)|adhere to|comply with|abide by|follow) (?!up"
    r"|your (?:heart|dreams))",
    r"^(?:please )?stay (?:under|below|within|in (?:read|english|character)|inside"
    r"|on (?:staging|the)|read-only)\b",
    r"^(?:please )?keep (?!(?:me|us|it up|going|up|in touch|on|calm|an eye|trying|at it|smiling"
    r"|that|your (?:chin|head|spirits))\b)"
    r".*\b(?:out of|private|confidential|secret|between us|to yourself|under|below|within|short"
    r"|brief|concise|polite|formal"
    r"|anonymous|offline|away from|off|free of|separate|internal|hidden|in (?:english|japanese"
    r"|mind that)|at (?:most|least)|to (?:a|one|two|three|the) )\b",
    r"^(?:please )?(?:treat|handle|regard|consider) .* as\b|^(?:please )?(?:call|address) me \w+"
    r"|^(?:please )?refer to \w+ (?:as|by)\b",
    r"^(?:please )?(?:redact|mask|anonymi[sz]e|pseudonymi[sz]e|encrypt|hide|blur|strip) (?:the "
    r"|all |any |every |each )?[\w\- ]*"
    r"(?:names?|numbers?|data|emails?|address\w*|participants?|faces?|details|secrets?"
    r"|passwords?|tokens?|identifiers?|ids?|customers?)\b",
    rf"^(?:please )?(?:{_WORK})\b.*\b(?:{_AT_MOST}) {_NUMBER}.*\b(?:per|words?|sentences?|lines?"
    r"|characters?|total|overall|hours?|minutes?)\b",
)
_PERMITTED_TIME = (
    r"(?:allowed|permitted|possible|accepted|acceptable|ok|okay|done|made|run|stored|used)"
)
_DEONTIC = any_of(
    r"\byou (?:must|shall|(?:may|can)(?= (?:only|not|never))|are (?:strictly )?(?:to"
    rf"|required to|expected to|supposed to|obliged to))(?: not| never|n't)? (?:{_WORK}|not"
    r"|never|only|always)\b",
    r"\byou (?:mustn't|shan't|can't|cannot|may not|are not|aren't|are never|should not"
    rf"|shouldn't) (?:allowed to |permitted to |authorized to |to |supposed to |ever )?{_WORK}\b",
    r"\byou (?:need to|have to|should|ought to|will need to)(?: always| never| only"
    rf"| not)? (?:{_WORK}|get|obtain)\b.*"
    rf"\b(?:{_UNIVERSAL}|never|only|before|after|without|first|unless|until|when(?:ever)?"
    r"|in (?:english|japanese|formal|writing))\b",
    rf"\byou(?: should| need to| have to| must) (?:always|never|only) (?:{_WORK})\b",
    r"\bwe (?:must|should|may|can|shall|are) (?:not|never|only)(?: allowed to| permitted to"
    rf"| to)? {_WORK}\b",
    r"\bwe (?:mustn't|can't|cannot|shouldn't|aren't|are not|may not|won't) (?:allowed to "
    rf"|permitted to |to |be )?{_WORK}(?:ing)?\b.*\b(?:{_UNIVERSAL}|never|before|after|without"
    r"|unless|until|outside|for|during|on|with|to)\b",
    r"\bwe (?:must|have to|need to|shall)(?: always)? (?:keep|stay|follow|comply|obey|respect"
    r"|maintain|protect|preserve|remain|honou?r)\b",
    r"\bfor (?:legal|compliance|security|safety|privacy|contractual|regulatory|audit) (?:reasons"
    r"|purposes)\b"
    r".*\b(?:can't|cannot|can not|must|may|don't|do not|never|only)\b",
    r"\bwe (?:do not|don't|never|only|always) (?:ever )?(?:access|deploy|disclose|discuss"
    r"|export|merge|offer|promise|publish|push|quote|refund|release|restart|sell|share|ship"
    r"|store|touch|trade|trust|use|cite|accept|negotiate|hire|invest)\b",
    rf"^(?!{_PRONOUN}\b){_SUBJECT_WORDS}+? (?:must|shall)(?: always| only)? (?:{_WORK}"
    rf"|be (?:{_DONE}|at (?:most|least)|in (?!by|already|there)|under|within|below|no|available"
    r"|unique|short|formal|polite|read-only|\w+ed (?:by|before|in|with|to|as|within|at|first))"
    r"|(?:have|contain) (?:an?|at|the|no|two|one) |(?:remain|stay|go|come|pass)\b)",
    rf"\b(?:must|shall|may)(?: not| never|n't) (?:be (?:\w+ed|{_DONE})|leave|appear|contain"
    rf"|exceed|go|enter|cross|drop|fall|have|see|know|get|{_WORK})\b",
    rf"\b(?:must|shall|has to|have to|needs? to|should)(?: always| only| first)? be (?:{_DONE}"
    rf"|read-only|in (?:english|japanese|writing)|(?:{_AT_MOST}) {_NUMBER})\b.*\b(?:{_UNIVERSAL}"
    rf"|by|before|with|in|first|only|{_AT_MOST}|never|to|as|via|through)\b",
    rf"^(?:{_UNIVERSAL}|no|both|the|your|our)\b{_SUBJECT_WORDS}* (?:must|shall|has to|have to"
    rf"|needs? to|should) (?:{_WORK}|be (?:{_DONE}|under|below|within|in|at|no|short|formal)"
    r"|include|go through|come with|contain|have|pass)\b",
    rf"^(?:{_UNIVERSAL}|no|both)\b{_SUBJECT_WORDS}* (?:need|needs|require|requires"
    r"|go(?:es)? through|gets?|must|is to|are to)\b",
    rf"\b(?:should|may|can|ought to) (?:never|only|not ever)(?: be)? (?:{_WORK}|{_DONE}|\w+ed)\b",
    r"\b(?:cannot|can't|can not|should not|shouldn't) be (?:changed|deleted|deployed|disclosed"
    r"|discussed|edited|exported|exposed|forwarded|mentioned|merged|modified|moved|published"
    r"|quoted|released|removed|restarted|revealed|shared|shipped|sold|stored|touched|traded|used"
    r"|exceeded)\b",
    r"\b(?:need|needs|require|requires)(?: \w+'s| an?| the| two| \d| prior| written| explicit"
    r"| formal| my| our| your| legal| manager| [\w-]+)* "
    r"(?:approvals?|sign-?offs?|permission|consent|reviews?|authori[sz]ation|confirmation"
    r"|clearance|rollback|tickets?|reviewers?|approvers?|signatures?)\b",
    r"\b(?:approvals?|sign-?offs?|permission|consent|reviews?|authori[sz]ation|confirmation"
    r"|reviewers?|signatures?) (?:is|are) (?:always )?(?:required|mandatory|needed|necessary"
    r"|compulsory)\b",
)
_POLICY = any_of(
    r"\bit(?:'s| is) (?:strictly |absolutely |expressly )?(?:prohibited|forbidden|mandatory"
    r"|compulsory|not allowed|not permitted|required|against (?:the )?(?:rules|policy)"
    r"|(?:essential|critical|imperative|vital) (?:that|to never|not to))\b",
    r"^(?!my (?:son|daughter|kid|sister|brother|mom|dad|wife|husband)|i\b|he\b|she\b).*\b(?:is"
    r"|are|isn't|aren't|remains?|stays?)(?: not| never| only| strictly| absolutely| completely"
    r"| still| expressly| always| now)* "
    r"(?:off[- ]limits|off the table|out of bounds|forbidden|banned|prohibited|disallowed"
    r"|confidential|embargoed|read-only|mandatory|compulsory|non-negotiable|not negotiable"
    r"|classified|private|not public|internal(?: only)?|need-to-know|verboten|taboo|a no-go"
    r"|no-go|not an option)\b",
    r"^(?!my (?:son|daughter|kid|sister|brother|mom|dad|wife|husband)|i\b|he\b"
    r"|she\b).*\b(?:(?:is|are) (?:not|never|only|strictly)|isn't|aren't)(?: ever"
    r"| only)? (?:allowed|permitted|to be|authorized|authorised|for internal)\b",
    r"\b(?:is|are) (?:strictly )?(?:limited|restricted|confined|capped|held) (?:to|at|by)\b",
    rf"\b(?:is|are) (?:always |only )?to be (?:{_DONE}|\w+ed)\b",
    r"\b(?:prod\w*|deploy\w*|releases?|changes?|budget|hiring|schema|main|master|trunk|spending"
    r"|merges?|accounts?|environment|cluster|code ?base|repo\w*|branch)\b[\w ]*\b(?:is|are"
    r"|stays?|remains?) (?:now |still |completely )?(?:frozen|locked|closed)\b",
    r"\b(?:is|are|stays?|remains?) frozen (?:until|till|through|for)\b",
    r"\b(?:in|under) (?:an? |the )?(?:strict |full |total )?(?:\w+ )?(?:embargo|freeze"
    r"|moratorium|nda|lockdown|hold)\b|\b(?:freeze|embargo|moratorium)\b.*\b(?:until|till"
    r"|through|in effect|in force|applies)\b",
    r"\b(?:stays?|remains?|is|keep (?:it|this)) (?:strictly |just )?between (?:us|you and me"
    r"|the two of us)\b",
    r"\b(?:cap|limit|ceiling|maximum|max|minimum|quota)\b(?! of (?:this|that|the"
    rf"|a)\b)[\w\- ]{{0,40}}(?:\bis\b|\bare\b|:|=) (?:[\w\- ]{{0,20}})?{_NUMBER}",
    r"\b(?:budget|spend(?:ing)?|maximum|max|discounts?|expenses?"
    rf"|cost)\b[\w\- ]{{0,40}}(?:\bis\b|\bare\b|:|=)[\w\- ]{{0,20}}(?:{_AT_MOST}|cap\w*"
    rf"|limit\w*) {_NUMBER}",
    rf"^(?:the )?(?:maximum|max|minimum|total|hard)\b[\w\- ]{{0,40}}(?:\bis\b|\bare\b|:"
    rf"|=) {_NUMBER}",
    rf"\b(?:capped|limited) (?:at|to) {_NUMBER}|^(?:at most|never more than"
    rf"|max(?:imum)?) {_NUMBER}",
    r"^(?!(?:i|you|he|she|it|they|we|my|his|her)\b).*\b(?:stays?|remains?"
    r"|(?:is|are|has|have|needs?) to (?:stay|remain|be kept))"
    r"(?: strictly| completely| always| fully)* (?:secret|under wraps"
    r"|undisclosed|hidden|anonymous|masked|redacted|encrypted|untouched|private|confidential"
    r"|internal)\b(?! to (?:me|us|him|her|them)\b)",
    r"^(?:our|the|my|company|team|house|standing|new|one|general|hard|golden"
    r"|first)(?: \w+)? (?:policy|rule|requirement|constraint|guideline|ground rule|red line"
    r"|convention|standard procedure)(?: here| is| says| for [\w ]+)?(?: is|:)(?! (?:simple|old"
    r"|weird|unclear|fine|stupid|broken|there|in the|at)\b)",
    r"^(?:policy|rule|constraint|requirement|restriction|condition|ground rule"
    r"|hard rule)s?(?: \d+)?: ?\S",
    r"^only (?!\d|(?:one|two|three|four|five|six|a few|a|an|some|half|then|time|recently|now|just"
    r"|if|when|because|after)\b)"
    r"[\w\"'\-. ]+? (?:may|can|must|should|shall|count|counts|qualify|is allowed|are allowed"
    r"|is permitted|are permitted|gets?|has access|have access|(?:is|are) (?:acceptable"
    rf"|accepted|authorized|valid)|{_WORK}s?)\b",
    r"^(?:nobody|no one|nothing|none|no [\w\- ]{2,30}?)\b[\w\- ]*\b(?:without|until|unless"
    r"|except|but|may|must|shall|should|is to|are to|(?:is|are) allowed|goes|gets?|leaves"
    r"|touches|merges|ships|deploys|enters)\b",
    r"^no (?:[\w\-]+ ){1,4}(?:on|in|after|before|during|without|outside|for|until|between|over"
    r"|above|to|from|at|with|unless|allowed|please|whatsoever|this|today|tonight|next)\b",
    r"^no [\w\-]+(?: [\w\-]+){0,2},? (?:please|ever|period|full stop|at all)\b"
    r"|^no (?:new )?(?:deploys?|deployments?|restarts?|releases?|merges?|changes?|migrations?"
    r"|emojis?|jargon|peanuts|meat|calls|exceptions)\b",
    r"\b(?:allowed|permitted|possible|happens?|happen|done|made|take place|accepted|run"
    rf"|runs) (?:only|exclusively)\b|\b(?:is|are) only (?:to be )?{_PERMITTED_TIME}\b"
    r"|\bonly (?:between|during|after|before|on \w+days?|with (?:approval|permission))\b",
    r"\b(?:on|in) \w+(?:days|mornings|afternoons|evenings) only\b|^(?:\w+ ){1,3}only(?:[,.]|$"
    r"| (?:for|in|until|please|no|not))|\b(?:read|view)-only (?:access|mode|for)\b",
    r"\b(?:go|goes|route[ds]?) (?:only )?through \w+.*\b(?:no exceptions?|only|always)\b"
    r"|\bno exceptions\b",
)
_SCOPED_LIMIT = any_of(
    rf"^(?:at |with |allow )?{_NO_MORE} {_NUMBER} {_COUNTED}{{0,4}}\b(?:{_PER})\b(?!.*{_LEFT})",
    rf"^(?:at |with |allow )?{_NO_MORE} {_NUMBER} {_COUNTED}{{0,2}}(?:{_AMOUNTS})(?:,? please)?$",
)
"""A limit that says of what; "no more than" alone is as often news."""

_EMPHASIS = lazy_pattern(r"\b(never|do not|don't|dont)(?:,? (?:ever|never))+\b,?(?= )")
"""In "never, ever" the first word says it all."""

_CONDITIONED_ORDER = lazy_pattern(
    r"^(?:if|when|whenever|before|after|for (?:all|every|each|any)|during|as long as|until"
    r"|unless|while|in case)\b"
    r"(?P<condition>[^,]*),? (?:then )?(?:please )?(?:always |never |do not |don't "
    rf"|immediately |first )?(?P<order>{_WORK})\b"
)
_GENERAL_CONDITION = any_of(
    r"\b(?:a|an|any|anyone|anything|anybody|someone|somebody|every|each|all|customers|clients"
    r"|users|people)\b",
    r"\b(?:goes|rises|exceeds?|drops|falls|reaches|climbs|stays|is (?:above|below|over|under"
    r"|in doubt|unclear))\b",
    r"\b(?:in doubt|unsure|not sure|mention\w*|i ask|asked|you (?:write|quote|send|answer|reply"
    r"|cite|email|contact|deploy|talk|schedule|book|use|need to|make|add|change|report|refer"
    r"|share|summari[sz]e|translate))\b",
    r"^ ?\w+ing\b|^ ?(?:business|office|working|peak|trading|market|quiet|school) hours\b"
    r"|^ ?the (?:incident|audit|freeze|embargo|trial|migration|outage|rest)\b",
)
_ONE_TIME_CONDITION = any_of(
    r"\byou(?:'re| are| can| have time| get a chance| want| like| feel|'ve| ever need| get home"
    r"| arrive| wake)\b(?! (?:not sure|unsure|in doubt))",
    r"^ ?(?:possible|needed|necessary|so|not|it's ok|it is ok)\b|\b(?:is|are|'s) (?:done"
    r"|finished|ready|over|back|complete|up)\b|\b(?:finishes|completes|is fixed|arrives)\b",
)
_SHARED_SUBJECT = lazy_pattern(
    r"^(?:i|they|he|she|it|these|those|(?:my|your|his|her|their|our|the|this|that) \w+)(?:'\w+)? "
    r"(?!(?:must|should|may|can|is|are|isn't|aren't|has to|have to)\b)[^,;]*\b(?:and"
    r"|but) (?:always|never|only)\b"
)
"""In "they … and always …" the order's verb has a subject, so it is no order."""
_SPEAKER_ONLY = lazy_pattern(
    r"^(?:i|i'm|i've|i'll|he|she|they|my \w+|his \w+|her \w+)(?:'m|'ve|'ll|'d)? (?!forbid"
    r"|prohibit|insist|require|expect|prefer)"
)
_ADVICE = lazy_pattern(
    r"\byou (?:really |definitely |just |totally |all )?(?:must|should|shouldn't|need to"
    r"|have to|gotta|ought to|can't|cannot|must not|may)(?: not)?"
    rf" (?:really |definitely |just |totally |also |always |never )?(?:{one_of(CHAT - WORK)}"
    r"|check out|take (?:care|it easy|a (?:break|rest)|better)|keep (?:going|trying)|give (?:it"
    r"|up|yourself))\b"
    r"|\byou should(?:n't)? be\b"
)
_ENCOURAGEMENT = lazy_pattern(
    r"\b(?:never|don't|do not|always) (?:ever |you )?(?:give up|let (?:it|them|anyone|anything"
    r"|him|her|that)|look back|be (?:afraid|sorry|shy|sad|so|too|hard|discouraged)"
    r"|stop (?:dreaming|believing|learning|trying|being)|lose (?:hope|heart|sight)|follow your"
    r"|trust your|take (?:it|things|life) |beat yourself|push yourself"
    r"|make me|tell me|keep (?:your|trying|going|learning)|hold back|work too|wait too|say (?:hi"
    r"|hello))\b|\b(?:your (?:heart|dreams|gut|passion)|yourself)\b"
)


def states_rule(clause: str) -> bool:
    """Whether the speaker lays a standing rule on the agent or the work with this clause."""
    text = _EMPHASIS.sub(r"\1", _OPENERS.sub("", clause)).rstrip(" .!?\"')")
    limits = bool(_SCOPED_LIMIT.search(text))
    if not text or (_IDIOM.search(text) and not limits) or _RELEASES.search(text):
        return False
    main = _main_clause(text)
    if mood_en.is_reported(main) or mood_en.is_supposed(main):
        return False
    if _is_order(text, main):
        return not _ENCOURAGEMENT.search(text)
    if mood_en.is_past(main) or _SPEAKER_ONLY.match(main) or _ADVICE.search(main):
        return False
    return limits or bool(_DEONTIC.search(text) or _POLICY.search(text))


def _is_order(text: str, main: str) -> bool:
    if _SHARED_SUBJECT.match(text):
        return False
    speaks_of_self = re.search(r"\b(?:i|we|they|he|she)(?:'ll| will|'m| am| always| never)\b", main)
    if _ORDER_AGAINST.search(text):
        return True
    if _ORDER_STANDING.search(text) and not speaks_of_self:
        return True
    return bool(_ORDER_OVER_ALL.search(text)) or _is_conditioned_order(text)


def _is_conditioned_order(text: str) -> bool:
    match = _CONDITIONED_ORDER.match(text)
    if not match or _ONE_TIME_CONDITION.search(match.group("condition")):
        return False
    return bool(_GENERAL_CONDITION.search(match.group("condition")))


def _main_clause(text: str) -> str:
    """What is left without conditions, times and reasons around it."""
    main = _ADJUNCT_AFTER.sub("", _ADJUNCT_BEFORE.sub("", text))
    return main or text
