"""Name the actions that a text speaks of, so that English, Japanese and synonyms meet."""

import re

_ACTIONS: dict[str, str] = {
    "restart": r"\b(?:restart|reboot|bounc|power[- ]cycl)\w*|再起動|リブート|立ち上げ直",
    "stop": r"\b(?:stop(?:s|ped|ping)?|shut(?:s|ting)? ?down|kill)\w*|停止し|停止を"
    r"|停止する|止め(?:て|る|ろ)"
    r"|シャットダウン|切断し",
    "delete": r"\b(?:delet|drop(?:s|ped|ping)?\b|remov|wip(?:e|ing)|purg|truncat|eras)\w*"
    r"|削除|消去|消し|破棄|抹消",
    "deploy": r"\b(?:deploy|redeploy|releas(?!e c-)|ship(?:s|ped|ping)?\b|roll(?:s|ed"
    r"|ing)? ?out|push(?:es|ed|ing)?\b"
    r"|hotfix)\w*|デプロイ|リリース|本番反映|配備",
    "rollback": r"\b(?:roll(?:s|ed|ing)?[- ]?back|revert)\w*|ロールバック|切り戻|巻き戻",
    "failover": r"\b(?:fail(?:s|ed|ing)?[- ]?over|switch(?:es|ed|ing)? over|promot(?:e|ing))\w*"
    r"|フェイルオーバー|フェールオーバー|切り替え|昇格",
    "change": r"\b(?:chang|modif|edit|alter|migrat|upgrad|patch|merg|updat)\w*"
    r"|変更|修正し|編集|改修|更新し|アップデート|移行|適用",
    "share": r"\b(?:shar(?:e|ing)|disclos|publish|post(?:s|ed|ing)?\b|announc|send|forward|e-?mail"
    r"|paste|pasting|upload|hand(?:s|ed|ing)? over|tell|leak|mention|notif)\w*|口外|公開|投稿|掲載"
    r"|貼り付|貼って|教え|渡し|渡す|共有|送信|送って|送る|伝え|知らせ|連絡し|開示|公表|漏",
    "name": r"\bnames?\b|名前|顧客名|氏名|実名|お名前",
    "approve": r"\b(?:approv|sign(?:s|ed|ing)? off|authori[sz])\w*|承認|許可し|決裁",
    "spend": r"\b(?:spend|buy|purchas|order(?:s|ed|ing)? (?:a|the|more|new|\d)|pay)\w*|購入"
    r"|発注|支払|買っ|買う",
    "scale": r"\b(?:scal|resiz|add(?:s|ed|ing)? (?:capacity|nodes?|replicas?))\w*|増強|増設"
    r"|スケール",
    "disable": r"\b(?:disabl|turn(?:s|ed|ing)? off|mut(?:e|ing)|silenc)\w*|無効化|オフに|切って",
    "open": r"\b(?:open(?:s|ed|ing)?|expos)\w*|開放|公開",
    "contact": r"\b(?:call(?:s|ed|ing)?|page(?:s|d)?|paging|contact|phone)\b|電話|呼び出",
    "freeze": r"\bfrozen\b|\bfreez\w*|凍結",
}
_COMPILED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ACTIONS.items()}
_MEANS_TOO = {"freeze": frozenset({"deploy", "change", "rollback"})}
"""A freeze speaks of every change to the thing."""

_MAX_CHARS = 4_000


def actions_in(text: str) -> frozenset[str]:
    """Names of the actions in a text, such as 'restart' for '再起動' and 'reboot'."""
    found = {name for name, pattern in _COMPILED.items() if pattern.search(text[:_MAX_CHARS])}
    for name in tuple(found):
        found |= _MEANS_TOO.get(name, frozenset())
    return frozenset(found)
