"""The mood of a Japanese sentence: asked, reported, supposed, past. Takes normalised text."""

from acc_ace.core.text.patterns import any_of, lazy_pattern

_POLITE_ORDER = any_of(
    r"(?:ないで|ように(?:して)?|必ず.*て)(?:もらえ|いただけ|頂け|くれ)(?:ます|ません|る"
    r"|ない)(?:でしょう)?か"
)
_QUESTION = any_of(
    r"[?？]\s*$",
    r"(?:です|ます|ません|でしょう|だろう|ました|でした)か(?:ね|な)?[。!]?$",
    r"(?:っけ|かな|かしら|のか|だっけ|んですか|の)[。!]?$(?<!もの)(?<!るの。)",
    r"^(?:なぜ|どうして|なんで|どうすれば|何故|いつから|どこ).*",
)
_REPORTED = any_of(
    r"(?:と|って|とか|なと|んだと|て)(?:も)?(?:言っ|言わ|言い|言う(?!まで)|いっ(?:て|た)|申し"
    r"|おっしゃ|仰)",
    r"(?:と|って)(?:の)?(?:主張|述べ|聞(?:い|き|く)|伺|考え(?:て|る|た)|思われ|書(?:い|か|き)"
    r"|記(?:さ|し|載)|伝え|話し|話す"
    r"|指摘|忠告|助言|説明|報告|警告|思っている|思っています|知らせ|連絡が|返事|回答が|噂|発表"
    r"|断言|判断して(?:い|る))",
    r"(?:と|って)(?:ある|あり(?:ます|ました)|あった)(?:[。、!]|$)|とのこと|だって[。!]?$"
    r"|んだって|だってさ",
    r"によると|によれば|の話では|曰く|いわく|らしい|(?:そう|との噂)(?:です|だ)(?:[。よね!]|$)",
    r"(?:ように|と|って|に)(?:言|指示さ|注意さ|頼ま|勧め|すすめ|怒)(?:われ|れ|られ)",
    r"に言われ|(?:さん|部長|課長|社長|先生|上司|医者|姉|兄|母|父|妻|夫|友人|彼女?)(?:が|は"
    r"|から).*(?:と|って)(?:いう|言う)(?!まで)",
)
_OWN_SAYING = lazy_pattern(
    r"(?:私|僕|俺|こちら|わたし|先ほど|さっき|前に|以前)(?:が|は|も)?(?:言|お伝え"
    r"|申し)\w{0,4}(?:とおり|通り|ように|まで)"
)
_SUPPOSED = any_of(
    r"^(?:もし|仮に|もしも).*(?:だろう|でしょう|どうなる|かも|なあ|だったら|としたら)",
    r"(?:かもしれ|かもね|かも[。!]?$|だろう|でしょう|と思(?:う|い|って)|気がす|はず(?:だ|です|な"
    r"|[。]?$)|違いな|つもり"
    r"|(?:予定|見込み|恐れ|可能性)(?:です|だ|が)|決まって(?:い|る)|ようだ|ようです|みたい"
    r"|とした(?:ら|場合)|っぽい"
    r"|たい(?:です|な|なあ|ね)?[。!]?$|のに[。]?$|といいな|ばいいな|検討(?:中|して)|考えて(?:い"
    r"|お))",
)
_CONDITIONAL = any_of(
    r"もし|仮に|万一|(?:たら|だら|れば|なら(?!な)|ければ|次第|場合(?:は|に|のみ)|とき(?:は|に)"
    r"|時(?:は|に)(?!間)|後(?:は|に)|限り(?:は|、)|まで(?:は|、))"
)
_PAST = any_of(
    r"(?:た|だ(?:っ)?た|でした|ました|なかった|ませんでした)(?:よ|ね|わ|な|んだ|のだ|んです"
    r"|のです|けど|が|し|よね|んだよ)*[。!、]?$",
)
_BECAME = lazy_pattern(
    r"(?:禁止|凍結|必須|不可|中止|厳禁)(?:に|と)(?:なり|決まり|し|決定し)(?:まし)?た"
)


def is_question(sentence: str) -> bool:
    """Whether it asks; a polite order (〜しないでもらえますか) does not."""
    return not _POLITE_ORDER.search(sentence) and bool(_QUESTION.search(sentence))


def is_reported(sentence: str) -> bool:
    """Whether it gives somebody else's words or hearsay."""
    return bool(_REPORTED.search(_OWN_SAYING.sub("", sentence)))


def is_supposed(sentence: str) -> bool:
    """Whether it is a supposition, a wish or a plan."""
    return bool(_SUPPOSED.search(sentence))


def is_conditional(sentence: str) -> bool:
    """Whether it holds only if something happens."""
    return bool(_CONDITIONAL.search(sentence))


def is_past(clause: str) -> bool:
    """Whether it tells what was; that something 'has become forbidden' is told as present."""
    return bool(_PAST.search(clause)) and not _BECAME.search(clause)
