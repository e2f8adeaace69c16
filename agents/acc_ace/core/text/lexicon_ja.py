"""Japanese word lists: stop words, harmless words and synonyms."""

from typing import Final

from acc_ace.core.text.patterns import lazy_pattern, words_of

KANJI: Final = "\u3400-\u4dbf\u4e00-\u9fff々〆ヶ"
KATAKANA: Final = "\u30a1-\u30f5\u30f7-\u30faー"
HIRAGANA: Final = "\u3041-\u309f"

STOP_BIGRAMS: Final = words_of(
    """
です ます した して する から まで ない ある いる こと もの これ それ あれ この その あの って った
ても でも ので のに には では とは ため よう さい くだ ださ ませ せん まし たい てい いま いて あり
なり なる なっ れる られ せる させ など けど だけ ここ そこ どこ どの なに 何か いい しま すか ます
ょう しょ でし いた いか うか ない
"""
)
"""Bigrams too common to be useful for search."""

STOP_KANJI: Final = frozenset("事物時方様等下私今後中内者人何必全毎可不要")
"""Kanji that carry no topic on their own."""

ASKING_KANJI: Final = frozenset("何誰")
"""Kanji of question words (what, who), which answers do not contain."""

HARMLESS: Final = lazy_pattern(
    r"必ず(?!しも)|常に|いつも(?!の)|きちんと|ちゃんと|しっかり|(?:(?<=[にでとへ])|(?<=から)|(?<=まで))は(?!な|い)"
)
"""Emphasis, and the topic marker after a particle. Only removed in text without negation."""

CASE: Final = words_of(
    """
を に へ から まで より で が は
"""
)
"""Particles that end a phrase; the phrases of one verb may be in any order."""

LINKING: Final = words_of(
    """
は を が も に で
"""
)
"""Particles that are ignored between a lesson and its contradiction."""

SYNONYMS: Final = {
    word: line.split()[0]
    for line in """
削除 消去 消
書 記述 記載 記入
確認 チェック
聞 尋ね
ユーザー 利用者 ユーザ
通知 知らせ
送 送信 送付
使 使用 利用 用い
分割 分け
選 選択
始め 開始
終え 終了
直 修正
集め 収集
変え 変更
作 作成
加え 追加 入れ
示 表示
測 測定 計測
比べ 比較
サーバー サーバ
すべて 全て 全部
のみ だけ
必要 要
壊れ 破損
""".strip().splitlines()
    for word in line.split()
}
"""Each word, verbs as stems, mapped to the word that represents its synonym class."""

COUNTERS: Final = {"名": "人", "度": "回", "℃": "度"}

DIGITS: Final = str.maketrans("〇一二三四五六七八九", "0123456789")
COUNTER: Final = (
    "回|件|日間|日|時間|分間|分|秒間|秒|円|倍|割|個|名|人|台|点|ヶ月|か月|カ月|月|年間|年|週間|週|行"
    "|つ|位|番|頁|段|種|文字|桁|号|本|枚"
)
"""Counters; 'X間' precedes 'X', so that the longer one matches."""
