"""Find typed entities in English and Japanese text: 'server:db-01', 'person:田中さん'."""

import re
from functools import lru_cache
from typing import NamedTuple

from acc_ace.core.text.patterns import words_of

_MAX_CHARS = 20_000
_MAX_FOUND = 64
_SHORT_CHARS = 400
"""Results for texts up to this length are cached."""


class Entity(NamedTuple):
    """A typed name. Mentions that differ only in case are one entity."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


_TECH = (
    r"(?:service|api|gateway|queue|cluster|database|cache|pod|worker|replica|pool|pipeline|topic)"
)
_JA_TECH = r"(?:サーバー?|サービス|データベース|システム|キュー|クラスタ|バッチ|画面|アプリ|API|DB)"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_SPEECH = (
    r"(?:says|said|thinks|claims|told|insists|wants|asks|asked|argues|believes|reports|reported"
    r"|approved|confirmed|owns|mentioned|is on[- ]call|joined|from|will|can|may|should|has)"
)
_NO_NAME = (
    r"(?!(?:The|This|That|These|Those|It|We|You|They|He|She|What|When|Where|Why|How|Who|Which|And"
    r"|But|Also|Now|Then|Please|Prod|Production|Nobody|Everyone|Everything|Someone|Anyone|There"
    r"|Here|Support|Security|Finance|Legal|Customers?|Users?|Traffic|(?:Mon|Tues|Wednes|Thurs"
    r"|Fri|Satur|Sun)days?|Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun|Week(?:days?|ends?)|Holidays?"
    r"|Christmas|Easter|January|February|March|April|June|July|August|September"
    r"|October|November|December|Only|Ask|Page|Call|Tell|Thanks|Yes|No|Ok|Okay|Let|Just|If|In"
    r"|On|At|So|My|Our|Your|His|Her|Its|One|Two|Three|Option|Nothing|Postgres|Redis|Kafka)\b)"
)

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("url", re.compile(r"https?://[^\s<>\"'）)、。]{1,300}")),
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")),
    (
        "file",
        re.compile(
            r"(?<![\w/])(?:/[\w.+-]{1,80}){2,12}"
            r"|\b[\w-]{1,80}\.(?:ya?ml|json|log|txt|md|csv|conf|cfg|ini|py|sh|sql|xlsx?|pdf)\b"
        ),
    ),
    ("ticket", re.compile(r"\b(?!(?:UTF|SHA|ISO|RFC|HTTP|TLS|AES|MD|PR)-)[A-Z]{2,10}-\d{1,7}\b")),
    (
        "server",
        re.compile(
            r"(?<![\w.@/-])(?!(?:c|b|a|t|top|sha|utf|iso|pre|post|mid)-\d)"
            r"[a-z][a-z0-9]{0,30}(?:-[a-z0-9]{1,30}){0,4}-\d{1,4}(?:\.[a-z0-9-]{1,60}){0,5}"
            r"(?![\w-])"
        ),
    ),
    (
        "error",
        re.compile(
            r"\b[45]\d\d(?=(?:s\b|\s*(?:errors?|responses?|エラー)))"
            r"|(?:(?<=HTTP )|(?<=status )|(?<=error )|(?<=code )|(?<=returns )|(?<=returned )"
            r"|(?<=returning )|(?<=got )|(?<=エラー))[45]\d\d\b"
            r"|\b[A-Z][A-Za-z]{2,40}(?:Error|Exception)\b|\bORA-\d{3,6}\b|\bE(?:ACCES|CONN[A-Z]+|NOENT|NOSPC|PIPE|TIMEDOUT|PERM|NOMEM)\b"
        ),
    ),
    ("version", re.compile(r"\bv\d{1,4}(?:\.\d{1,4}){0,3}\b|\b\d{1,4}\.\d{1,4}\.\d{1,4}\b")),
    (
        "money",
        re.compile(
            r"[$€£¥]\s?\d[\d,.]{0,15}\d?\s?(?:k|M|万)?|\d[\d,]{0,15}\s?(?:万|億)?(?:円|ドル)"
        ),
    ),
    ("percent", re.compile(r"\d{1,3}(?:\.\d{1,3})?\s?(?:%|％|パーセント)")),
    (
        "time",
        re.compile(
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?|\b\d{1,2}:\d\d\b(?:\s?(?:UTC|JST|am|pm))?"
            r"|\b\d{1,2}\s?(?:am|pm)\b|\d{1,2}月\d{1,2}日"
            rf"|\b{_MONTH} \d{{1,2}}\b|\b\d{{1,2}} {_MONTH}\b"
            r"|(?:午前|午後)?\d{1,2}時(?!間)(?:半|\d{1,2}分)?"
            r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|[月火水木金土日]曜日?"
        ),
    ),
    (
        "duration",
        re.compile(
            r"\b(?:\d{1,5}(?:\.\d)?|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty"
            r"|thirty|forty)[ -]?(?:ms|milliseconds?|seconds?|minutes?|hours?|days?|weeks?)\b"
            r"|\d{1,5}(?:分間?(?!の\d)|時間|秒間?|日間|週間|か月)"
        ),
    ),
    (
        "person",
        re.compile(
            r"[\u4e00-\u9fff\u30a1-\u30fa々ー]{1,6}(?:さん|様|氏|先生|くん)(?!々)"
            r"|[\u4e00-\u9fff々]{1,4}(?:部長|課長|店長|社長|主任|所長)"
            rf"|\b{_NO_NAME}[A-Z][a-z]{{1,20}}(?= {_SPEECH}\b)"
            rf"|(?<=[a-z,] )(?<!\b[Ii]n ){_NO_NAME}[A-Z][a-z]{{2,20}}\b(?! [A-Z])(?![-/])"
        ),
    ),
    (
        "team",
        re.compile(
            r"[\u4e00-\u9fff\u30a1-\u30faー]{1,8}(?:部(?!長|分|品|屋)|チーム|課(?!題|長))"
            r"|\b(?!(?:the|our|my|a)\b)[a-z]{2,20} team\b"
        ),
    ),
    (
        "service",
        re.compile(
            rf"\b(?!(?:the|a|an|this|that|our|my|each|every|any|all|new|old|of|to)\b)"
            rf"[a-z][a-z0-9-]{{2,30}} {_TECH}\b"
            rf"|(?:[\u30a1-\u30faー]{{2,12}}|[\u4e00-\u9fff]{{2,6}}|[A-Za-z]{{2,20}}){_JA_TECH}"
            r"|(?<=\bthe )(?:checkout|billing|payments?|auth|search|login|inventory)\b"
            r"|\b(?:checkout|billing|payments)\b"
        ),
    ),
)


_CITIES = words_of(
    """amsterdam ashburn athens atlanta auckland bangalore bangkok barcelona beijing berlin boston
    brussels bucharest budapest cairo chennai chicago copenhagen dallas delhi denver detroit dubai
    dublin frankfurt fukuoka geneva hamburg hanoi helsinki hiroshima houston hyderabad istanbul
    jakarta johannesburg kobe kyoto lagos lisbon london madrid manila melbourne miami milan
    montreal moscow mumbai munich nagoya nairobi osaka oslo paris perth philadelphia phoenix
    prague rome santiago sapporo seattle sendai seoul shanghai shenzhen singapore sofia stockholm
    stuttgart sydney taipei tokyo toronto vancouver vienna vilnius warsaw yokohama zurich
    アムステルダム アトランタ ウィーン オスロ サンフランシスコ シアトル シカゴ シドニー
    シンガポール ジャカルタ ストックホルム ソウル ダブリン チューリッヒ ドバイ トロント
    ニューヨーク ハノイ バンコク パリ フランクフルト ブリュッセル ヘルシンキ ベルリン ボストン
    マドリード ミュンヘン ミラノ ムンバイ メルボルン ロサンゼルス ロンドン ローマ
    東京 大阪 京都 名古屋 横浜 神戸 札幌 仙台 広島 福岡 那覇 千葉 埼玉 川崎 上海 北京 香港 台北
    """
)


def find_entities(text: str) -> tuple[Entity, ...]:
    """Distinct entities of a text in order of appearance. Bounded work for any text."""
    return _short(text) if len(text) <= _SHORT_CHARS else _found(text[:_MAX_CHARS])


def _found(text: str) -> tuple[Entity, ...]:
    taken: list[tuple[int, int, Entity]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if len(taken) >= 4 * _MAX_FOUND:
                break
            start, end = match.span()
            # Patterns are ordered from specific to vague: 'db-01' in a URL is part of the URL.
            if all(end <= other[0] or start >= other[1] for other in taken):
                taken.append((start, end, Entity(kind, match.group().strip())))
    unique: dict[str, Entity] = {}
    for _, _, entity in sorted(taken):
        unique.setdefault(str(entity).casefold(), entity)
    return tuple(unique.values())[:_MAX_FOUND]


# The same sentences recur in every turn, and several parts analyse each.
_short = lru_cache(maxsize=2_048)(_found)


def names_in(text: str, *kinds: str) -> list[str]:
    """Names of the entities of the given kinds (default: all)."""
    return [item.name for item in find_entities(text) if not kinds or item.kind in kinds]


def is_city(name: str) -> bool:
    """Whether a name is a well-known city, ignoring case."""
    return name.casefold() in _CITIES
