"""Japanese words for the comparison of lessons: endings that carry nothing, synonyms."""

from collections.abc import Mapping
from typing import Final

from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.polarity import OPPOSITES_JA, opposites_by_class

KANJI: Final = "\u3400-\u4dbf\u4e00-\u9fff々〆"
KATAKANA: Final = "\u30a1-\u30faー"
HIRAGANA: Final = "\u3041-\u309f"

_LIGHT: Final = """
事 物 時 方 様 等 際 場合 必 常 行 行う 実施 対応 実行 処理 使 使用 利用 用 付 的 上 中 内 下
毎 全 各 可 能 得 受 最初 先 初 後 前 以 其 此 何 私 今 度 個 件 とき こと もの する なる
ある いる その この それ これ まず 必要 要 必ず 常に ため よう ので から まで として について
によって により とも ともに たら なら
"""
LIGHT: Final = frozenset(_LIGHT.split())
"""Runs in which two lessons may differ and say the same; order is compared on its own."""

_SYNONYMS: Final = """
確認 見 チェック 点検 検査 検証
削除 消去 消 除去
書 記述 記載 記入 述
作 作成 建 構築 設置 追加
尋 聞 質問 問
ユーザー 利用者 ユーザ
顧客 客 お客様 カスタマー
知 連絡 通知 報告
比較 比
食事 食
空腹 腹
夜 日没 暮
出力 印字
送 送信 送付
分割 分
選 選択
始 開始
終 終了 完了
直 修正 修理
集 収集
計算 算出
示 明示 表示 提示 明記
引 引継
異 違
残 記録
説明 解説
避 回避
変更 変
増 増加
減 減少
調 調査
依頼 頼
禁止 厳禁
添付 添
サーバー サーバ
最新 新
"""

COUNTER: Final = (
    "回|件|日間|日|時間|分間|分|秒間|秒|円|倍|割|個|名|人|台|点|ヶ月|か月|カ月|月|年間|年|週間|週|行"
    "|万|千|億|度|つ|位|番|頁|段|種|文字|桁"
)
"""What a number counts; 'X間' stands before 'X', so that the longer one is taken."""
DIGITS: Final = str.maketrans("〇一二三四五六七八九", "0123456789")

NEGATION: Final = lazy_pattern(
    r"(?:(?:し|を|は|も|が)?(?:ては|では)(?:いけない|いけません|ならない|なりません|だめ|駄目)"
    r"|(?:を|は|も)?(?:厳禁|禁止|不要|不可)(?:する|とする|です|である|だ)?"
    r"|ないで(?:ください|下さい)?|ないこと|ません|ない|なく|ずに|せず|(?<![必ま])ず(?=、|$)|(?<=[るすむくぐうつぶ])な(?=$|。))"
)
"""What denies or forbids the word before it."""

ENDING: Final = lazy_pattern(
    r"(?:(?:終わっ|終了し|完了し)たら|て(?:ください|下さい|おくこと|おく|おり|いる|いた)|ましょう|すること|しなさい"
    r"|べき(?:だ|である)?|ます|した(?:うえ|上)で|する|せよ|しろ|です|である|こと|とする|される|された|ている)"
)


def _table(lines: str) -> dict[str, str]:
    table: dict[str, str] = {}
    for line in lines.strip().splitlines():
        words = line.split()
        for word in words:
            table.setdefault(word, words[0])
    return table


SYNONYMS: Final[Mapping[str, str]] = _table(_SYNONYMS)

_OPPOSITES: Final = opposites_by_class(OPPOSITES_JA, lambda word: SYNONYMS.get(word, word))


def opposites_of(meaning: str) -> frozenset[str]:
    """The classes of words that are the opposite of one class."""
    return _OPPOSITES.get(meaning, frozenset())
