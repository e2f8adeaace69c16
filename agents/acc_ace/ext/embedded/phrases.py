"""The engine's own sentences, in English and Japanese. All other text is quoted."""

from typing import Literal

Language = Literal["ja", "en"]

NOTE: dict[Language, str] = {
    "en": "(extractive, not an LLM)",
    "ja": "（ルールベースの応答です。LLM ではありません）",
}

_TEXTS: dict[str, tuple[str, str]] = {
    "about": ("In memory about this:", "関連する記憶："),
    "latest": (
        "I find no fact in memory by these words. The latest that I hold:",
        "この言葉に関連する事実は記憶にありません。最近の記憶：",
    ),
    "empty": (
        "I find nothing in memory by these words.",
        "この言葉に関連する記憶は見つかりません。",
    ),
    "only_quotes": (
        "(I only quote memory. I cannot reason, calculate, judge or act; "
        "that takes a language model.)",
        "（記憶を引用するだけで、推論・計算・判断・操作はできません。これらには言語モデルが必要です。）",
    ),
    "quote": ('- "{text}" [{source}]', "- 「{text}」 [{source}]"),
    "state": ("state", "状態"),
    "goal_source": ("goal", "目標"),
    "refused": (
        'I will not do that: "{rule}" stands in the way [{id}].',
        "それはできません。「{rule}」というルールがあります [{id}]。",
    ),
    "how_to_release": (
        "Only you can release it, by sending exactly: release {id}",
        "解除できるのはご本人だけです。解除するには「{id} を解除」とだけ送ってください。",
    ),
    "in_force": (
        'The constraint "{rule}" [{id}] is in force.',
        "「{rule}」というルール [{id}] が有効です。",
    ),
    "by_consent": (
        "I change a rule or the goal only with your confirmation.",
        "ルールや目標は、ご本人の確認を得てから変更します。",
    ),
    "rules": ("Active constraints:", "有効なルール："),
    "no_rules": ("No constraint is active.", "有効なルールはありません。"),
    "goal": ('The goal, in your words: "{goal}"', "目標（ご本人の発言どおり）：「{goal}」"),
    "no_goal": ("No goal has been set yet.", "目標はまだ設定されていません。"),
    "noted": ("Noted: {what}", "記録しました：{what}"),
    "noted_short": ("Noted.", "記録しました。"),
    "hello": (
        "Hello. Tell me the goal, the rules to keep and the facts; I keep track of them.",
        "こんにちは。目標、守るべきルール、事実を教えてください。覚えておきます。",
    ),
    "welcome": ("You are welcome.", "どういたしまして。"),
    "ok": ("All right.", "承知しました。"),
    "left_out": (
        "(Left out: instruction-like text, which I treat as data.)",
        "（指示のような文は、データとして扱い、引用から省きました。）",
    ),
    "warning": ("Note: {what}", "注意：{what}"),
    "judged_wrong": ("the answer was judged wrong", "回答は誤りと評価された"),
    "error_of_tool": ("{tool} failed", "{tool} が失敗した"),
    "lesson_of_tool_error": (
        "Check the arguments before calling {tool}; "
        "when it fails, say so and do not guess the result.",
        "{tool} を呼ぶ前に引数を確かめる。失敗したら結果を推測せず、失敗したと伝える。",
    ),
    "error_of_answer": ("the user corrected the previous answer", "前回の回答が訂正された"),
    "lesson_of_correction": (
        "Before naming a fact, check it against the latest facts in the state; "
        "an answer had it wrong and was corrected.",
        "事実を答える前に、状態の最新の事実と照合する。以前、誤りを訂正された。",
    ),
    "lesson_of_pressure": (
        "Check even urgent requests against the active constraints first, "
        "and quote the one that stands in the way.",
        "急ぎの依頼でも、まず有効な制約と照らし合わせ、妨げになる制約を引用して伝える。",
    ),
}


def say(name: str, language: Language, **values: object) -> str:
    """One of the engine's sentences with values filled in."""
    english, japanese = _TEXTS[name]
    return (japanese if language == "ja" else english).format(**values)
