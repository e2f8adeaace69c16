"""Read the Japanese of a lesson: kanji and katakana words, counted numbers, denials.

The lexicon says which endings carry nothing and which words mean the same.
"""

from collections.abc import Mapping
from typing import Final

from acc_ace.text.lessons.lesson_words import Reading, Word
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


_PIECE = lazy_pattern(
    rf"(?P<no>{NEGATION.pattern})|(?P<end>{ENDING.pattern})"
    rf"|第?(?P<number>[〇一二三四五六七八九十百千万億]+)(?P<counter>{COUNTER})"
    rf"|(?P<kanji>(?:(?!(?:禁止|厳禁|不要|不可)(?![{KANJI}]))[{KANJI}])+)|(?P<katakana>[{KATAKANA}]+)"
    rf"|(?P<kana>(?:(?!{NEGATION.pattern}|{ENDING.pattern})[{HIRAGANA}])+)"
)
_FUNCTION = lazy_pattern(
    "について|によって|により|として|という|かどうか|そして|それでも|ください|から|まで|ので|には|では"
    "|とは|への|との|ても|でも|だけ|など|れば|られ|たら|なら|とき|ため|よう|また|この|その|これ|それ"
    "|どちら|して|した|する|ある|いる|なる|もの|および|かつ|[はがをにでともへやのかなりし]"
)
_EDGE = lazy_pattern(r"^(?P<head>[最各全毎]?)(?P<body>.+?)(?P<tail>[前後時中内外用者]?)$")


def read_run(run: str, at: int, reading: Reading) -> None:
    """Note a run of Japanese characters."""
    before = ""
    for match in _PIECE.finditer(run):
        piece, start = match.group(), at + match.start()
        match match.lastgroup:
            case "no":
                reading.deny_last(start)
            case "counter":
                reading.number(match["number"].translate(DIGITS), match["counter"])
            case "kanji":
                _kanji(piece, start, reading)
            case "katakana":
                _add(piece.rstrip("ー") or piece, start, reading)
            case "kana":
                _kana(piece, start, reading, after_kanji=before == "kanji")
        before = match.lastgroup or ""
    reading.begins = False


def _kanji(run: str, at: int, reading: Reading) -> None:
    for part in _parts(run):
        _add(part, at, reading)


def _parts(run: str) -> list[str]:
    """A run cut into words of two characters; three stay together, affixes stand alone."""
    if run in SYNONYMS or opposites_of(run) or len(run) <= 2:
        return [run]
    if len(run) == 3:
        edge = _EDGE.fullmatch(run)
        if edge is None or not (edge["head"] or edge["tail"]):
            return [run]
        return [part for part in edge.groups() if part]
    if run[-1] in "前後時中内外":
        return [*_parts(run[:-1]), run[-1]]
    return [run[at : at + 2] for at in range(0, len(run), 2)]


def _add(word: str, at: int, reading: Reading) -> None:
    meaning = SYNONYMS.get(word, word)
    if opposites_of(meaning):
        reading.poles.add(meaning)
    if word not in LIGHT:
        reading.add(Word(meaning, at))


def _kana(run: str, at: int, reading: Reading, *, after_kanji: bool) -> None:
    """Particles say what goes where; what is left of three characters or more is a word."""
    if reading.words and reading.words[-1].at < at:
        if run.startswith("を") or run.startswith("から"):
            reading.sources.add(reading.words[-1].term)
        elif run.startswith("へ") or (run.startswith("に") and not run.startswith("には")):
            reading.targets.add(reading.words[-1].term)
    for position, piece in enumerate(_FUNCTION.split(run)):
        is_inflection = after_kanji and position == 0
        if len(piece) >= 3 and not is_inflection and piece not in LIGHT:
            _add(piece[:3], at, reading)
