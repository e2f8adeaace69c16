"""Cities by name: what says where something is, beyond doubt."""

from core.domain.language.patterns import words_of

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


def is_city(name: str) -> bool:
    """Whether a name, in any case, is one of a well-known city."""
    return name.casefold() in _CITIES
