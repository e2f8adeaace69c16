"""The general lessons the engine can draw, in both languages: no names, no facts of one case."""

from core.models.embedded.wording import Language

PITFALLS = "pitfalls"
STRATEGIES = "strategies"
TOOLS = "tools"
CHOICES = "choices"

_KINDS: dict[str, tuple[str, str]] = {
    "server": ("server", "サーバー"),
    "service": ("service", "サービス"),
    "person": ("person", "人物"),
    "team": ("team", "部署"),
    "time": ("date or time", "日時"),
    "money": ("amount of money", "金額"),
    "percent": ("figure", "数値"),
    "version": ("version", "バージョン"),
    "ticket": ("ticket", "チケット"),
    "error": ("error", "エラー"),
    "file": ("file", "ファイル"),
}
_ACTIONS: dict[str, tuple[str, str]] = {
    "restart": ("a restart", "再起動"),
    "rollback": ("a rollback", "ロールバック"),
    "failover": ("a failover", "切り替え"),
    "scale": ("more capacity", "増強"),
    "deploy": ("a new release", "リリース"),
    "delete": ("a clean-up", "削除"),
    "disable": ("switching the feature off", "無効化"),
    "change": ("a configuration change", "設定変更"),
}


def on_correction(kind: str, language: Language) -> str:
    """An answer named the wrong thing of a kind and the user put it right."""
    english, japanese = _KINDS.get(kind, ("fact", "事実"))
    if language == "ja":
        return f"{japanese}を答える前に、状態の最新の事実と照合する。以前、誤りを訂正された。"
    return (
        f"Before naming a {english}, check it against the latest facts in the state; "
        "an answer had it wrong and was corrected."
    )


def on_tool_failure(tool: str, language: Language) -> str:
    """A tool could not do what it was asked."""
    if language == "ja":
        return f"{tool} を呼ぶ前に引数を確かめる。失敗したら結果を推測せず、失敗したと伝える。"
    return (
        f"Check the arguments before calling {tool}; "
        "when it fails, say so and do not guess the result."
    )


def on_pressure(language: Language) -> str:
    """A request would have broken a constraint and was turned down."""
    if language == "ja":
        return "急ぎの依頼でも、まず有効な制約と照らし合わせ、妨げになる制約を引用して伝える。"
    return (
        "Check even urgent requests against the active constraints first, "
        "and quote the one that stands in the way."
    )


def on_success(action: str, language: Language) -> str:
    """The user said that an action solved the problem."""
    english, japanese = _ACTIONS[action]
    if language == "ja":
        return f"同じ種類の問題では、制約が許すなら{japanese}を選択肢に挙げる。以前、有効だった。"
    return (
        f"For a problem of the same kind, offer {english} as an option "
        "if the constraints allow it; it worked before."
    )


def on_unknown(language: Language) -> str:
    """A question could not be answered from the state."""
    if language == "ja":
        return "状態に答えがない質問では、まず記録を検索し、なければ分からないと答える。"
    return (
        "When the state does not answer a question, search the evidence first, "
        "and say so when it holds nothing."
    )


def success_action(actions: frozenset[str]) -> str | None:
    """The first action, of those a text speaks of, that a lesson can be drawn from."""
    return next((name for name in _ACTIONS if name in actions), None)
