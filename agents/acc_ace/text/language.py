"""Tell Japanese from English."""

from typing import Literal

from acc_ace.text.normalize import MAX_ANALYSED
from acc_ace.text.patterns import lazy_pattern

_KANA = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]")
_HAN = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN_WORD = lazy_pattern(r"[A-Za-z]{2,}")


def language_of(text: str) -> Literal["ja", "en"]:
    """The language a text is written in; English where nothing points to Japanese.

    Kana decides unless English words far outweigh it, so 'DBの再起動はNG' is Japanese and an
    English sentence that names 「障害」 stays English. Looks at the first MAX_ANALYSED characters.
    """
    seen = text[:MAX_ANALYSED]
    japanese = len(_KANA.findall(seen)) + len(_HAN.findall(seen))
    # A Japanese word takes about two characters.
    return "ja" if japanese and japanese >= 2 * len(_LATIN_WORD.findall(seen)) else "en"
