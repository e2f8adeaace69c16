"""The engine's own sentences, in English and Japanese. All other text is quoted."""

from typing import Literal

Language = Literal["ja", "en"]

NOTE: dict[Language, str] = {
    "en": "(extractive, not an LLM)",
    "ja": "（抽出型のエンジンによる回答です。LLM ではありません）",
}

_TEXTS: dict[str, tuple[str, str]] = {
    "refused": (
        'I will not do that: "{rule}" stands in the way{cite}.',
        "それは行えません。「{rule}」という制約があります{cite}。",
    ),
    "how_to_release": (
        "Only you can release it, by sending exactly: release {id}",
        "解除できるのはご本人だけです。解除する場合は「制約 {id} を解除」とだけ送ってください。",
    ),
    "how_to_release_text": (
        "Only you can release it, by saying so explicitly.",
        "解除できるのはご本人だけです。解除する場合は明示的に書いてください。",
    ),
    "claim": (
        "I noted this as a claim of {who}, not as your decision.",
        "これは{who}の発言として記録しました。あなたの決定としては扱いません。",
    ),
    "in_force": (
        'The constraint "{rule}"{cite} is in force.',
        "「{rule}」という制約{cite}は有効です。",
    ),
    "allowed": (
        "No active constraint forbids it.",
        "これを禁じる有効な制約はありません。",
    ),
    "by_consent": (
        "I change a rule or the goal only with your confirmation.",
        "ルールや目標は、ご本人の確認を得てから変更します。",
    ),
    "rules": ("Active constraints:", "有効な制約："),
    "no_rules": ("No constraint is active.", "有効な制約はありません。"),
    "no_such_rule": (
        "No active constraint says that.",
        "その内容の有効な制約はありません。",
    ),
    "goal": ('The goal, in your words: "{goal}"', "ご指定の目標：「{goal}」"),
    "no_goal": ("No goal has been set yet.", "目標はまだ設定されていません。"),
    "new_goal": ('Goal: "{goal}"', "目標：「{goal}」"),
    "options": ("Options:", "選択肢："),
    "options_noted": ("Noted as options:", "選択肢として記録しました："),
    "chosen": ("Option {number}: {option}.", "{number}番目の案：{option}。"),
    "no_option": (
        "I have no list with such an option. Please name it.",
        "該当する選択肢の一覧がありません。具体的に書いてください。",
    ),
    "cannot_act": (
        "embedded/rules calls none of your tools; do this yourself, or use an LLM.",
        "embedded/rulesは追加されたツールを呼び出しません。実行はご自身か、LLMでお願いします。",
    ),
    "known": ("Related facts:", "関連する情報："),
    "unknown": (
        "I do not know: nothing in my state or evidence answers that.",
        "分かりません。現在の状態にも記録にも、答えになるものがありません。",
    ),
    "open": ("Still open: {what}", "未確認：{what}"),
    "situation": ("Current state:", "現在把握していること："),
    "noted": ("Noted: {what}", "記録しました：{what}"),
    "noted_short": ("Noted.", "記録しました。"),
    "corrected": (
        "Thank you for the correction. Noted: {what}",
        "訂正ありがとうございます。次のとおり記録しました：{what}",
    ),
    "corrected_what": (
        "Thank you for the correction. It does not name its subject, so nothing was changed. "
        "Please state the fact in full.",
        "訂正ありがとうございます。何についての訂正か分からないため、把握している内容は変わっていません。"
        "正しい内容を、名前を挙げて書いてください。",
    ),
    "glad": (
        "Good to hear. Noted as something that worked.",
        "よかったです。有効だった対応として記録しました。",
    ),
    "hello": (
        "Hello. Tell me the goal, the rules to keep and the facts; I keep track of them.",
        "こんにちは。目標、守るべき決まり、事実を教えてください。覚えておきます。",
    ),
    "welcome": ("You are welcome.", "どういたしまして。"),
    "ok": ("All right.", "承知しました。"),
    "tool_failed": (
        "{tool} failed: {why}. I do not know the result.",
        "{tool} が失敗しました（{why}）。結果は分かりません。",
    ),
    "no_tool": (
        "That needs the tool {tool}, which is not available here.",
        "それには {tool} というツールが必要ですが、ここでは使えません。",
    ),
    "found_nothing": (
        "I searched the evidence and found nothing about that, so I do not know.",
        "記録を検索しましたが、該当するものがないため分かりません。",
    ),
    "found": ("From the evidence:", "記録によると："),
    "file_says": ("{file} says:", "{file} の内容："),
    "time_is": ("The current time is {time}.", "現在の時刻は {time} です。"),
    "left_out": (
        "(Left out: instruction-like text, which I treat as data.)",
        "（指示のように書かれた部分は省きました。データとして扱います。）",
    ),
    "lesson": ("Earlier lesson: {what}", "以前の教訓：{what}"),
    "warning": ("Note: {what}", "注意：{what}"),
    "learnt": ("something was learned", "学びがあった"),
    "nothing_learnt": ("nothing to learn", "特に学ぶことはない"),
    "judged_wrong": ("the answer was judged wrong", "回答は誤りと評価された"),
    "error_of_tool": ("{tool} failed", "{tool} が失敗した"),
    "cause_of_tool_error": ("its arguments may have been wrong", "引数が合わなかった可能性"),
    "approach_to_tool_error": (
        "report the failure and fix the arguments",
        "失敗を伝え、引数を直す",
    ),
    "lesson_of_tool_error": (
        "Check the arguments before calling {tool}; "
        "when it fails, say so and do not guess the result.",
        "{tool} を呼ぶ前に引数を確かめる。失敗したら結果を推測せず、失敗したと伝える。",
    ),
    "error_of_answer": ("the user corrected the previous answer", "前回の回答が訂正された"),
    "cause_of_wrong_answer": (
        "it rested on a wrong or outdated fact",
        "古い、または誤った事実",
    ),
    "approach_to_wrong_answer": (
        "treat the correction as the latest fact",
        "訂正を最新の事実とする",
    ),
    "lesson_of_correction": (
        "Before naming a {what}, check it against the latest facts in the state; "
        "an answer had it wrong and was corrected.",
        "{what}を答える前に、状態の最新の事実と照合する。以前、誤りを訂正された。",
    ),
    "lesson_of_pressure": (
        "Check even urgent requests against the active constraints first, "
        "and quote the one that stands in the way.",
        "急ぎの依頼でも、まず有効な制約と照らし合わせ、妨げになる制約を引用して伝える。",
    ),
    "lesson_of_success": (
        "For a problem of the same kind, offer {what} as an option "
        "if the constraints allow it; it worked before.",
        "同じ種類の問題では、制約が許すなら{what}を選択肢に挙げる。以前、有効だった。",
    ),
}


def say(name: str, language: Language, **values: object) -> str:
    """One of the engine's sentences with values filled in."""
    english, japanese = _TEXTS[name]
    return (japanese if language == "ja" else english).format(**values)


def cited(cite: str) -> str:
    """A citation suffix for a quote: ' [c-0001]'; '' for none."""
    return f" [{cite}]" if cite else ""
