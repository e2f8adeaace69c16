"""Whether a Japanese clause states a rule. Takes normalised text.

Words that only a rule has decide first; the remaining forms (request, 〜こと, duty) are a rule when
a word makes them standing (必ず, 毎回, 今後, …) or a limit (だけ, 以内, …), else a one-off order.
"""

import re

from acc_ace.core.text.patterns import any_of, lazy_pattern
from acc_ace.core.text.rules import mood_ja

_END = r"(?:[。!！、]|$)"
_COPULA = (
    r"(?:です|だ|である|でお願いします|で頼みます|でよろしく(?:お願いします)?|とします|とする"
    r"|とさせていただきます"
    r"|にします|にする|にしてください|になります|になりました|となります|扱い(?:です|とします"
    r"|で.*)?|なので|ですので|だから|ですから|ですよ|だよ|ね|よ)*(?:ね|よ)?"
)
_PLEASE = (
    r"(?:ください|下さい|くれ|ほしい(?:です)?|欲しい(?:です)?|もらいたい(?:です)?"
    r"|いただきたい(?:です)?|頂きたい(?:です)?|お願いします|お願い(?:致|いた)します"
    r"|頼みます|もらえますか|いただけますか)(?:ね|よ)?"
)

_CHAT = any_of(
    r"(?:気に|無理|遠慮|心配|がっかり|油断|後悔|緊張|びっくり|誤解|勘違い|お気遣い)(?:は)?(?:し"
    r"|なさら)?ないで",
    r"(?:諦め|あきらめ|責め|落ち込ま|泣か|怒ら|負け|驚か|焦ら|悩ま|悲しま|笑わ|めげ|くよくよ"
    r"|嫌わ|恐れ|怖がら|死な|行か|待た)ないで(?!.*(?:まで|限り))",
    r"忘れないで|言わない約束|なんだよ|んだよね|なんだって|(?:しょうが|仕方が|仕方)(?:ない"
    r"|ありません)|とんでもない",
    r"(?:大切|大事|肝心|夢|趣味|仕事|秘訣|コツ|楽しみ|問題|悩み)(?:なの)?は.*こと",
    r"限りです|やらな(?:きゃ|ければ).*(?:こと|もの)(?:が|は)",
)
_RELEASES = any_of(
    r"(?:解除|撤廃|撤回|廃止|取り消|取消|解禁)(?:し|です|する|とし|になり|で|$)",
    r"(?:なくて|なくても)(?:も)?(?:いい|良い|よい|構|かまい)|ても(?:いい|良い|よい|よろしい|構"
    r"|かまい)",
    r"(?:もう|今後は)?(?:不要|必要(?:は)?(?:もう)?(?:ない|ありません|なくな))|許可します"
    r"|許可する(?:$|。)|適用され(?:ない|ません)",
)
_ADVICE = any_of(
    r"(?:ほう|方)がいい|べき(?:だよ|だね|だと|かな)|(?:て|で)みて(?:ね|よ|[!！。]|$)|(?:て"
    r"|で)(?:ごらん|みたら)|しなきゃ(?:だめ|ダメ)|たらどう",
    r"自分を(?:大事|大切|責め)|(?:頑張|がんば)(?:って|れ)|楽しんで|元気(?:で|を)|体に気を"
    r"|食べて(?:ね|!|みて)|お大事に|幸せ",
)

_FORBIDS = any_of(
    r"(?:禁止|厳禁|ご?法度|禁物|不可|(?<![a-z])ng|エヌジー|口外無用|他言無用|持ち出し禁"
    rf"|立(?:ち)?入(?:り)?禁止){_COPULA}{_END}",
    r"(?:禁止|厳禁)(?:事項)?(?:とし|にし|され|であり|だし|ですし|で、)|(?:を|は)?禁じ(?:ます|る)"
    r"|(?:禁止|凍結|不可)(?:に|と)(?:なり|決まり)ました",
    r"(?:社外秘|部外秘|極秘|機密(?:事項|扱い|情報)?|内密(?:に)?|内緒(?:に)?|秘密(?:に|厳守)?"
    rf"|オフレコ|門外不出|非公開|取扱注意){_COPULA}(?:して)?(?:{_PLEASE})?{_END}",
    rf"(?:[^い、]ない|せぬ)で(?:{_PLEASE}|ね|よ|くださいませ)?{_END}",
    r"(?:て|で)(?:は|いて)?(?:いけ(?:ない|ません)|なら(?:ない|ぬ)|なりません|だめ|ダメ|駄目)"
    r"|(?:ちゃ|じゃ)(?:いけ|だめ|ダメ|駄目)",
    r"(?:認め|許可し|許し|許容し|受け付け|受付し|対応し|承認し)(?:ません|ない(?:こと)?"
    rf"|かねます){_END}",
    rf"(?<=[るすむくぐうつぶぬ])な(?:よ|ね)?{_END}",
    r"(?:のは|ことは|のを|ことを|は|を)?(?:控え|避け|遠慮し|慎(?:ん)?で?|お控え"
    rf"|ご遠慮)(?:て)?(?:{_PLEASE})|(?:のは|ことは|するのを?)(?:やめ|止め)(?:て|よう)",
    r"べきで(?:は)?(?:ない|ありません)|まじき|わけには(?:いか|まいり)|手を(?:出さ|触れ)ない"
    r"|触れないこと",
)
_NOT_TO = any_of(
    rf"ない(?:こと|もの)(?:とする|とします|です)?{_END}|ないよう(?:に(?:して|お願い|頼|気をつけ"
    rf"|注意|{_END})|お願い)|ない(?:という)?(?:方針|ルール|決まり|規則|方向|前提)",
)
_NEEDS_ASSENT = any_of(
    r"(?:承認|許可|同意|確認|レビュー|申請|届(?:け)?出|相談|合意|決裁|事前連絡|署名|立ち会い"
    r"|了承|チェック)(?:が|は|も)?(?:事前に|必ず)?(?:必要|必須|要る|いる|いります|要ります"
    rf"|義務){_COPULA}{_END}",
)
_REQUIRES = any_of(
    rf"(?:必須|義務|マスト|義務付け|厳守|遵守|順守|徹底){_COPULA}(?:して)?(?:{_PLEASE})?{_END}"
    r"|を(?:守|遵守|厳守|徹底)(?:って|して|すること|り)",
    r"(?:[うくぐすつぬぶむる]|ない)(?:こと|事|ものとする|ものとします)(?:とする|とします|にする"
    rf"|にします|でお願いします)?{_END}",
    rf"(?:[うくぐすつぬぶむる])ように(?:して{_PLEASE}|お願い|願います|して(?:ね|!|。|$)|[。!]?$)",
    r"(?:伏せ|伏せ字に|匿名(?:化|に)|仮名(?:に)?|マスク|黒塗り|ぼか|暗号化"
    rf"|非表示に)(?:し)?(?:て|で)(?:おいて)?(?:{_PLEASE}|[。!]?$)",
    r"(?:を|は|に)?(?:通す|経由する|経る|得る|取る|付ける|つける|使う|守る|避ける|控える|限る"
    rf"|従う)こと{_END}",
)
_LIMITS = any_of(
    rf"に限(?:る|ります|定(?:する|します|です)?|って){_END}|に限(?:る|ります|定)",
    r"のみ(?:で)?(?:可|許可|有効|実施|使用|とする|とします|です|にし|に保存|使|対象|認め|で"
    r"|対応|$|。)|(?:時間外|環境|社内|平日|夜間|午前|午後)(?:だけ|のみ)",
    r"(?:できる|してよい|していい|しても?いい|してもよい|許される|使える|使っていい|可能な"
    r"|入れる|見られる|見ていい|閲覧できる|触れる|触っていい|認める)の(?:は|が).*(?:だけ|のみ)",
    rf"(?:上限|限度|最大|枠|予算|天井)(?:額|は|が|を)?.*\d.*(?:{_COPULA}|まで.*){_END}",
    r"\d[\d,.]*(?:%|パーセント|円|万円|ドル|字|文字|語|件|個|回|人|名|分|時間|行|文|日|割"
    r"|ユーロ)?(?:程度)?(?:以内|以下|まで|未満|以上)(?:とする|とします|です|に(?:し|収め|抑え"
    r"|おさめ|とどめ)|で(?:お願い|まとめ|書|答)|が(?:上限|限度)|厳守)",
    r"[一二三四五六七八九十百]+(?:件|個|回|人|名|文|行|字|つ|度)(?:だけ|まで|以内|以下)(?:とする"
    r"|とします|です|に|で(?:お願い))",
    rf"(?:読み取り専用|参照専用|閲覧専用|閲覧のみ|参照のみ|リードオンリー){_COPULA}|(?:凍結"
    r"|フリーズ|封鎖|ロック)(?:期間|中)?(?:です|とします|とする|にします|します|中です|。|$)",
    rf"(?:時間外|深夜|夜間|平日|午前中|午後)(?:だけ|のみ){_COPULA}{_END}",
    r"^(?:我が社の|当社の|うちの|チームの|社内の|この(?:件|案件|チーム"
    r"|プロジェクト)の)?(?:ルール|規則|決まり|方針|原則|鉄則|ポリシー|前提|条件|制約)(?:として"
    r"|は|:|：).*(?:です|こと|する|ない|とします|ください|まで|限る)",
    r"という(?:方針|ルール|決まり|規則|約束|前提)(?:です|だ|で|にし|とし)|(?:方針|ルール|決まり"
    rf"|規則)(?:です|とします){_END}",
)
_STANDING = any_of(
    r"必ず|かならず|常に|つねに|毎回|毎度|いつも|絶対|決して|けっして|一切|いっさい|その都度"
    r"|都度|(?:る|の)たび(?:に)?|度に|ごとに|毎に|逐一|随時",
    r"今後|これから(?:は|も)|以後|以降(?:は)?|当面|しばらく|引き続き|原則|基本(?:的に|は)"
    r"|デフォルト|いかなる|どんな(?:場合|時|とき)|何があっても|例外なく",
    r"(?:私|僕|俺|こちら)が(?:言う|いう|指示する|許可する|止める)まで|限り(?:は|、)|間(?:は|、"
    r"|中)|期間(?:中|は)|中は|この(?:件|案件|プロジェクト|プロジェクト中|会話|チャット"
    r"|セッション)(?:で|中)?は|(?:すべて|全て|全部|全員|全|あらゆる|どの).*(?:は|に|で|を)",
    r"事前に|前に(?:は|必ず|一度|私|一声|上司)|前は|際(?:は|に)|ときは|時は|場合(?:は|に|、)"
    r"|(?:超え|超過し|上回っ|下回っ|求められ|聞かれ|頼まれ|言われ|届い|発生し|起き|迷っ|困っ"
    r"|不明な|わからなかっ)(?:たら|た(?:場合|とき|時|ら))|なら(?:ば)?、|(?:ない)うち(?:は|に)"
    r"|なしに(?:は)?",
    r"(?:回答|返信|返事|返答|要約|報告(?:書)?|レポート|文章|文面|出力|表記|単位|連絡|名前|呼び方"
    r"|敬称|日付|金額|コメント|資料|説明|メール)(?:は|には|では|も|の形式は)",
)
_LIMITED_ORDER = any_of(
    r"(?:だけ|のみ|しか|以外|以内|以下|以上|まで|のほか)(?:に|で|を|は|使|提案|と)?",
)
_REQUEST = any_of(
    rf"(?:て|で)(?:おいて|いて|から(?:に)?)?(?:{_PLEASE}|ね|よ|[。!]?$)|{_PLEASE}[。!]?$"
    r"|(?:お願い(?:します|ね)?|頼む(?:よ|ね)?|よろしく)[。!]?$|(?:しろ|せよ|なさい)[。!]?$",
    rf"こと(?:です|だ|とする|とします)?{_END}|よう(?:に)?(?:お願い|して|[。!]?$)",
    r"(?:なければ|なきゃ|ねば|ないと)(?:なら|いけ|だめ|ダメ|駄目)|(?:必要が(?:ある|あります))"
    r"|(?:べき(?:です|だ|である)?[。!]?$)|(?:もらい|いただき|頂き)ます[。!]?$|(?:とする|とします"
    r"|に(?:する|します))[。!]?$",
)
_ONE_OFF = any_of(
    r"(?:見せ|教え|要約し|一覧|調べ|探し|開い|予約|キャンセル|出力し|検索し|計算し|翻訳し|説明し"
    r"|まとめ|比較し|取得し|読んで|伝え|送っ|確認し|作っ|作成し)て?"
)
_TIME_NOW = any_of(
    r"今すぐ|ただちに(?!.*たら)|今から|今日|今夜|明日|今週|来週|さっき|至急|先に|とりあえず"
    r"|一度だけ|今回だけ"
)
_AIM = r"(?:[^、。はを]{1,12}の|今の?)?(?:目標|目的|ゴール|狙い|ねらい|ミッション)"
_CHANGED = (
    r"を(?:(?:[^、を]*|[^、]*こと)[にへと])?再?(?:変更|変え|切り替え|改め|設定|置き換え)(?:を|で)?"
    r"(?:さ?せ|し|す)?(?:ます|ましょう|ました|る|よう|たい(?:です)?|た|"
    rf"て(?:{_PLEASE}|いただきます)?|{_PLEASE})?(?:ね|よ)?(?:{_END}|の?で|のですが|が|から|けど)"
)
_GOAL = lazy_pattern(
    rf"^(?:(?:では|じゃあ|それでは|さて)、)?{_AIM}"
    rf"(?:(?:は、?(?!問わ|関係)|:)(?P<stated>[^、]*)|(?P<changed>{_CHANGED}))"
)
"""What is to be reached, a deadline or an amount included: the goal, to the end of its clause."""

_CHANGES_GOAL = lazy_pattern(rf"{_AIM}(?P<changed>{_CHANGED})")
_UNDER_CONDITION = any_of(
    r"場合|際[はに]|とき|(?<!\d)時は|たら|れば|まで(?![にの])|必ず|常に|毎回|絶対|勝手に"
)
_NEW_GOAL = lazy_pattern(r"^を[^、]*こと[にへと]")
"""What the goal is changed to; 必ず or たら in it belong to it and are no condition."""
_HANDS_OFF = any_of(
    r"(?:変更し|変え|触ら|動かさ)ない(?:こと|よう)",
    rf"(?:凍結|(?:読み取り|参照|閲覧)専用)(?:します|する)?{_COPULA}$",
)
_ORDERED = any_of(rf"(?:て|[んい]で)(?:おいて)?{_PLEASE}{_END}")
_ORDERED_DRILY = any_of(
    r"(?:勝手に|場合は|際は|(?:とき|(?<!\d)時)は).*こと$",
    r"必ず.*(?:(?:確認|報告|連絡|相談|共有|説明)する|伝える)こと$",
    r"必ず[^を]*(?:(?:変更|再?設定|見直し|記録|記載|更新|維持|遵守|順守|達成)する|変える|改める"
    r"|守る|書く|示す|見直す|見る)こと$",
    r"必ず[^を]*(?:承認|許可|同意|了承|確認|合意|決裁)を(?:得|取|と)ること$",
)
"""With 必ず only what is done to the goal itself: 必ず…を終えること is what is to be reached."""

_RULING = (_FORBIDS, _NOT_TO, _LIMITS, _NEEDS_ASSENT, _REQUIRES)
_SPEAKER = any_of(
    r"(?:迎えに|帰ら|寝|起き|行か|出かけ|買い物|掃除|洗濯|食べ|飲ま)な(?:ければ|きゃ|いと)"
    r"|^(?:私|僕|俺|うち)(?:は|も).*(?:なければ|なきゃ|ないと|必要が)"
)


def states_rule(clause: str) -> bool:
    """Whether the speaker lays a standing rule on the agent or the work with this clause."""
    text = clause.strip().rstrip("。.!！ ")
    if not text or _CHAT.search(text) or _ADVICE.search(text) or _RELEASES.search(text):
        return False
    if (goal := _GOAL.match(text)) is not None and not _orders_about(goal):
        return states_rule(text[goal.end() :].lstrip("、"))
    if mood_ja.is_reported(text) or mood_ja.is_past(text):
        return False
    # 〜てほしい asks; it is no mere wish.
    if mood_ja.is_supposed(text) and not re.search(
        r"(?:て|で)(?:ほし|欲し|もらい|いただき|頂き)", text
    ):
        return False
    if any(pattern.search(text) for pattern in _RULING):
        return not _SPEAKER.search(text)
    return _is_standing_request(text)


def changes_goal(text: str) -> bool:
    """Whether a normalised sentence sets the goal anew, and not only under some condition."""
    match = _CHANGES_GOAL.search(text)
    return match is not None and not _is_conditional(match["changed"])


def _orders_about(goal: re.Match[str]) -> bool:
    """Whether a clause that begins like a goal lays something down instead of naming it."""
    if goal["changed"] is not None:
        return _is_conditional(goal["changed"])
    # 〜なくてはならない is what has to be reached, no prohibition.
    stated = goal["stated"].replace("なくては", "")
    if any(pattern.search(stated) for pattern in (_FORBIDS, _NEEDS_ASSENT, _HANDS_OFF)):
        return True
    standing = _ORDERED.search(stated) and _STANDING.search(stated)
    return bool(standing or _ORDERED_DRILY.search(stated))


def _is_conditional(changed: str) -> bool:
    return _UNDER_CONDITION.search(_NEW_GOAL.sub("", changed)) is not None


def _is_standing_request(text: str) -> bool:
    if not _REQUEST.search(text) or _SPEAKER.search(text):
        return False
    if _STANDING.search(text):
        return True
    limited = _LIMITED_ORDER.search(text) and not _TIME_NOW.search(text)
    return bool(limited) and not _ONE_OFF.search(text)
