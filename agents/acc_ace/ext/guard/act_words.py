"""Compare the words of a rule with those of a tool call, in English and Japanese."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from acc_ace.core.text.lexicon_en import STOP_WORDS, root_of
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern, words_of

_SAME: Final = """
read list get show search look view find fetch select count describe check query monitor \
    explain ls cat du df grep head tail stat ps uptime 読 一覧 表示 検索 参照 調べ 閲覧 取得
delete remove drop rm rmdir wipe purge erase truncate unlink destroy clear 削除 消 破棄
send email mail message sms notify notification contact reply write \
    letter tell text share give post forward \
    answer disclose reveal get 送 送信 連絡 伝 教 渡 答 提供 通知 返信 出 メール
call phone dial 電話
buy spend order purchase trade acquire book 買 購入 注文 発注 取引 仕入
publish post release announce 公開 掲載 発表 出
restart reboot 再起動
deploy release rollout デプロイ リリース
write create save store put add record go register insert log 書 登録 作成 保存 入 記録 追加
login log ssh sign connect ログイン 接続
open allow permit expose 開 許可 公開
disable off deactivate 無効 オフ
enable on activate 有効 オン
pay transfer refund 支払 振込 返金
approve accept authorize 承認
push プッシュ
production prod 本番
staging test sandbox dev 検証 開発
database db sql table データベース
snapshot スナップショット
backup バックアップ
server host node サーバ サーバー
calendar カレンダー
meeting event appointment schedule 会議 予定 打ち合わせ
cluster クラスタ クラスター
port ポート
invoice bill 請求
password secret credential パスワード 秘密
eu at be bg hr cy cz dk ee fi fr de gr hu ie it lv lt lu mt nl pl pt ro sk si es se
"""
"""Words that mean the same act or thing at a tool, one class a line; nouns and verbs alike."""

ENVIRONMENTS: Final = words_of("production prod staging test sandbox dev 本番 検証 開発")
"""Where something runs: never a detail that a rule can go without."""

_VAGUE: Final = words_of(
    """touch change modify alter leave alone treat use make take let allow anybody thing behalf name
    named direct directly straight always ask check please under inside within outside off-limits
    guest guests myself late later noon limit maximum minimum keep long ever run execute perform
    start amount"""
) | words_of(
    "誰 何 一切 絶対 直接 毎回 名前 中 前 後 時 以外 私 様 方 者 内 回 件 月 日 年 使 事 物 行 間"
    " 号室 番 次 上 下"
)

_RUN: Final = lazy_pattern(
    r"(?P<en>/?[a-z0-9*]+(?:[-_.:/@'][a-z0-9*]+)*/?)"
    r"|(?P<ja>[\u3400-\u4dbf\u4e00-\u9fff々〆ヶ]+|[\u30a1-\u30faー]{2,}|[\u3041-\u309f]+)"
)
_PARTICLE: Final = lazy_pattern(r"^(?:は|を|が|に|の|で|と|へ|も|や|から|まで)")
_OKURIGANA: Final = lazy_pattern(r"^[\u3041-\u309f]")
_HIRAGANA: Final = lazy_pattern(r"^[\u3041-\u309f]+$")
_HIRAGANA_NOUN: Final = lazy_pattern(r"^(?:[はをがにのでともへや])?([\u3041-\u309f]{2,}?)[をはが]$")
_NAME: Final = lazy_pattern(r"\d|[_./@*]")
_WORD: Final = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ASIDE: Final = lazy_pattern(r"\bwithout\b.*|\bchanges nothing\b.*|せずに.*|しないで.*")
_PATH: Final = lazy_pattern(r"(?<![\w.~-])[\w.~-]{0,200}/[\w./-]+")
_STATEMENTS: Final = words_of("sql command cmd script statement")
_READS: Final = lazy_pattern(
    r"^\s*(?:sudo )?(?:select|show|explain|describe|ls|cat|du|df|grep|head|tail|stat|ps|uptime|find"
    r"|git (?:status|log|diff|show))\b(?!.*(?:[;>|&]|-delete|-exec))",
    re.IGNORECASE | re.DOTALL,
)
_READ_TOOL: Final = words_of(
    "read list get show search look view find fetch select count describe query preview calculate"
)
_REFUSALS: Final = words_of("deny denied reject rejected block blocked refuse 拒否 却下 遮断")


@dataclass(frozen=True)
class Term:
    """A word of a rule; `place` stands behind a preposition or に, で; `detail` before a noun."""

    word: str
    place: bool = False
    detail: bool = False
    proper: bool = False
    verb: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it names one thing: an id, a path, a pattern."""
        return bool(_NAME.search(self.word))


class CallWords:
    """What a tool call says, read once."""

    def __init__(self, name: str, description: str, args: Mapping[str, Any]) -> None:
        self.args = dict(_flat(args))
        self.off = {key for key, value in self.args.items() if value in (False, None, "", 0)}
        on = {key: value for key, value in self.args.items() if key not in self.off}
        self.values = normalise(" ".join(str(value) for value in on.values()))
        self.tool = normalise(" ".join([*_words(name), _ASIDE.sub("", description)]))
        self.keys = normalise(" ".join(word for key in on for word in _words(key)))
        # "/root-backup" does not speak of root.
        self.value_stems = _stems(_PATH.sub(_parts, self.values))
        self.tool_stems = _stems(self.tool)
        self.key_stems = _stems(self.keys)
        self.off_stems = _stems(" ".join(word for key in self.off for word in _words(key)))
        self.all = f"{self.tool} {self.keys} {self.values}"
        self.all_stems = self.tool_stems | self.key_stems | self.value_stems
        first = next(iter(_words(name)), "")
        statement = [str(v) for k, v in self.args.items() if _words(k)[-1:] and k in _STATEMENTS]
        self.reads = bool(statement) and all(_READS.search(text) for text in statement)
        self.reads = self.reads or (not statement and normalise(first) in _READ_TOOL)
        self.refuses = bool(self.value_stems & _REFUSALS) or any(
            w in self.values for w in _REFUSALS if not w.isascii()
        )
        self.rehearses = any(value is True and "dry" in key for key, value in self.args.items())

    def has(self, term: Term) -> bool:
        """Whether the call speaks of the term anywhere."""
        if term.is_name:
            return self.in_values(term)
        if "-" in term.word:
            parts = [Term(part) for part in term.word.split("-")]
            return self.in_values(term) or all(_covers(t, self.all, self.all_stems) for t in parts)
        return _covers(term, self.all, self.all_stems)

    def turns_off(self, terms: Iterable[Term]) -> bool:
        """Whether it sets to false or nothing what the terms say is not to be disabled."""
        things = [term for term in terms if not matches_any(term.word, "disable")]
        off = [not same_class(term.word).isdisjoint(self.off_stems) for term in things]
        return any(off) and all(o or self.has(term) for o, term in zip(off, things, strict=True))

    def in_values(self, term: Term) -> bool:
        """Whether an argument's value speaks of it."""
        if term.is_name or "-" in term.word:
            return any(_names(term.word, token) for token in _tokens(self.values))
        return _covers(term, self.values, self.value_stems)

    def has_key(self, term: Term) -> bool:
        """Whether an argument is called like it."""
        return _covers(term, self.keys, self.key_stems)


def terms_of(text: str, rule: str = "") -> list[Term]:
    """The content words of a text, with the part that each plays; `rule` has its capitals."""
    folded = normalise(text)
    names = {
        normalise(word)
        for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+|(?<=[A-Z][a-z]{2} )[A-Z][a-z]+", rule)
    }
    terms: list[Term] = []
    place = False
    runs = list(_RUN.finditer(folded))
    for at, run in enumerate(runs):
        word = run.group()
        rest = folded[run.end() :]
        if run.lastgroup == "en":
            bare = word.removesuffix("'s").strip(".:'") or word
            if bare in _PREPOSITIONS:
                place = True
            if _carries(bare):
                here = place or bool(re.match(r"(?:に|で)", rest))
                terms.append(Term(bare, here, bool(re.match(r" [a-z]|の", rest)), bare in names))
        elif noun := _HIRAGANA_NOUN.match(word):
            if at and noun[1] not in _SUFFIXES and not noun[1].endswith(_VERB_ENDS):
                terms.append(Term(noun[1]))
        elif not _HIRAGANA.match(word) and word not in _VAGUE:
            mark = _PARTICLE.match(rest)
            particle = mark[0] if mark else ""
            verb = not particle and bool(_OKURIGANA.match(rest))
            terms.append(Term(word, particle in {"に", "で", "へ"}, particle == "の", verb=verb))
    return terms


_PREPOSITIONS: Final = words_of("in on to into from with for at by of onto as")
_SUFFIXES: Final = words_of("こと もの ため よう とき ない しない さん くん ちゃん だけ")
_VERB_ENDS: Final = ("ない", "して", "する", "った", "いて", "えて")


def same_class(word: str) -> frozenset[str]:
    """The word and all of the same meaning, as stems."""
    if word.isascii():
        return _classes().get(root_of(word), frozenset((root_of(word),)))
    longest = [known for known in _classes() if not known.isascii() and word.startswith(known)]
    best = max(longest, key=len, default="")
    return _classes().get(best, frozenset()) | {word}


def matches_any(word: str, words: str) -> bool:
    """Whether a word is of the class of one of the words."""
    return any(root_of(other) in same_class(word) for other in words.split())


@cache
def _classes() -> Mapping[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _SAME.strip().splitlines():
        stems = frozenset(root_of(word) if word.isascii() else word for word in line.split())
        for word in stems:
            table[word] = table.get(word, frozenset()) | stems
    return table


def _covers(term: Term, text: str, stems: set[str]) -> bool:
    own = same_class(term.word)
    if any(word in (stems if word.isascii() else text) for word in own):
        return True
    if term.word.isascii():
        return False
    pairs = [term.word[at : at + 2] for at in range(len(term.word) - 1)]
    heads = pairs[::2] if len(term.word) >= 4 and len(term.word) % 2 == 0 else pairs
    return len(term.word) >= 3 and all(pair in text for pair in heads)


def _names(pattern: str, token: str) -> bool:
    """Whether a token is the id, lies below the path, or fits the pattern."""
    if "*" in pattern:
        return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), token) is not None
    if pattern.startswith("/"):
        return token == pattern or token.startswith(pattern.rstrip("/") + "/")
    return token == pattern or (not pattern.isdigit() and pattern in re.split(r"[/@:]", token))


def _tokens(text: str) -> Iterator[str]:
    return (match.group().rstrip(".:") for match in re.finditer(r"[\w*./@:-]+", text))


def _carries(word: str) -> bool:
    return len(word) > 1 and word not in STOP_WORDS and _VAGUE.isdisjoint((word, root_of(word)))


def _parts(path: re.Match[str]) -> str:
    return " ".join(part for part in path.group().split("/") if part.isalnum())


def _words(name: str) -> list[str]:
    """The words of a name in snake or camel case; another script as it is."""
    return _WORD.findall(name) if name.isascii() else [name]


def _stems(text: str) -> set[str]:
    stems = set(re.findall(r"[a-z0-9]+", text))
    return {root_of(word) for word in stems} | (stems & _REFUSALS)


def _flat(args: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The arguments with nested ones beside them, by the innermost key."""
    for key, value in args.items():
        if isinstance(value, Mapping):
            yield from _flat(value, prefix)
        elif isinstance(value, (list, tuple)):
            yield key, " ".join(str(item) for item in value)
        else:
            yield str(key), value
