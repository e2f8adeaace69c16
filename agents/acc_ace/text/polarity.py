"""Which way a statement points: denials, and words that are the opposite of one another."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from acc_ace.text.normalize import normalise
from acc_ace.text.patterns import lazy_pattern

_EN_NEGATION = lazy_pattern(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n't|dont|forbid\w*|banned"
    r"|ban|prohibit\w*|refrain|avoid|stop|off[- ]limits|frozen|refuse\w*|disallow\w*)\b"
)
_JA_NEGATION = lazy_pattern(
    r"ない|なく|なかっ|ません|ませぬ|ず(?:に|、|$)|禁止|厳禁|禁じ|不可|(?<![a-z])ng\b|だめ|ダメ"
    r"|駄目|無用|やめて"
    r"|控え|避け|凍結|(?<=[るすむくぐうつぶ])な(?:[。!！]|$)"
)

_ANTONYMS_EN: Final = """
enable disable
on off
increase decrease
raise lower
ascending descending
open close
accept reject
allow forbid
allowed forbidden
start stop
long short
minimum maximum
min max
encrypt decrypt
lock unlock
show hide
previous next
first last
north south
east west
newest oldest
new old
newer older
include exclude
synchronous asynchronous
up down
subtract add
upload download
debit credit
optional required
left right
private public
high low
more fewer
more less
top bottom
internal external
inside outside
input output
read write
buy sell
push pull
import export
widen narrow
offer deny
approve deny
all none
all some
every some
always sometimes
many few
hot cold
early late
positive negative
success failure
present absent
attach detach
mount unmount
expand collapse
grow shrink
gain loss
profit loss
asset liability
income expense
warm cold
strong weak
safe unsafe
valid invalid
visible invisible
known unknown
empty full
fast slow
cheap expensive
best worst
same different
local remote
online offline
before after
atleast atmost
morethan lessthan
"""
"""Pairs that turn a lesson into its opposite. Comparisons stand here as one word."""

_NEGATIVES_EN: Final = """
disable enable
disallow allow
forbid allow
prohibit allow
without with
exclude include
reject accept
decrease increase
lower raise
optional require
"""
"""Pairs of which the first says just what 'not' and the second would: the negative first."""

_ANTONYMS_JA: Final = """
有効 無効
昇順 降順
長 短
上限 下限
新 古
含 除
税込 税抜
開 閉
前 後
前四半期 翌四半期
開始 停止
開始 終
増 減
許可 禁止
必要 不要
可能 不可
入力 出力
左 右
高 低
多 少
以上 以下
以上 未満
超 未満
最大 最小
公開 非公開
追加 削除
送信 受信
借方 貸方
入金 出金
内部 外部
早 遅
成功 失敗
ロック 解除
暗号化 復号
全 一部
すべて 一部
全部 一部
広 狭
売 買
東 西
南 北
同期 非同期
"""


def _pairs(lines: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (one, other) for one, other in (line.split() for line in lines.split("\n") if line)
    )


NEGATIVES_EN: Final[Mapping[str, str]] = dict(_pairs(_NEGATIVES_EN))
"""Each negative with its positive."""

NEGATIVES_JA: Final[Mapping[str, str]] = {
    "不要": "必要しない",
    "無効": "有効しない",
    "不可": "可しない",
    "オフ": "オンしない",
    "減ら": "増やしない",
    "下げ": "上げしない",
}
"""Each negative with its positive, denied."""

OPPOSITES_EN: Final = (*_pairs(_ANTONYMS_EN), *NEGATIVES_EN.items())
OPPOSITES_JA: Final = _pairs(_ANTONYMS_JA)


def opposites_by_class(
    pairs: Iterable[tuple[str, str]], class_of: Callable[[str], str]
) -> Mapping[str, frozenset[str]]:
    """Each class of words with the classes of its opposites."""
    table: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in pairs:
        table[class_of(one)].add(class_of(other))
        table[class_of(other)].add(class_of(one))
    return {name: frozenset(others) for name, others in table.items()}


def negated(text: str) -> bool:
    """Whether the statement forbids or denies; two negations make an affirmation."""
    folded = normalise(text)
    count = len(_EN_NEGATION.findall(folded)) + len(_JA_NEGATION.findall(folded))
    return count % 2 == 1
