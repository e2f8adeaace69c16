"""The words that say what a rule, or a change of one, is about."""

from functools import cache

from acc_ace.core.text.similarity import content_words

_OF_CHANGES = (
    "yes ok okay sure please lift lifted drop remove release cancel waive end delete scrap "
    "withdraw forget change update raise lower increase reduce extend shorten amend adjust switch "
    "replace make set adopt use keep allow permit grant add store remember take rule ban "
    "restriction constraint limit cap policy permission prohibition freeze goal now over "
    "解除 撤回 撤廃 取消 削除 廃止 変更 更新 延長 短縮 修正 許可 追加 制約 制限 禁止 規則 上限 "
    "目標 ルール 方針 決 外 解 変 上 下 延 残 認 願 件 今 了解 承知 結構 構"
)
"""Words that change a rule or call it one, and say nothing of its matter."""


@cache
def _of_changes() -> frozenset[str]:
    return content_words(_OF_CHANGES)


def topic_words(text: str) -> frozenset[str]:
    """The content words of a text, without those that only change a rule or call it one."""
    return content_words(text) - _of_changes()
