"""Words and bigrams that are in every text and so find nothing."""

_ENGLISH = """
a about after again all also always am an and any anyone anything are arent as at be because been
before being both but by can cant could couldnt d did didnt do does doesnt doing done dont during
each every everything few for from further get go going got had has have having he her here hers
him his how i i'd if ill im in into is isnt it its ive just let lets like ll m me might more most
must my need never no nor not now of off ok okay on once only or other our ours out over own per
please re s same shall she should shouldnt so some such t than thank thanks that thats the their
theirs them then there these they this those through to too under until up us use ve very was
wasnt we well were werent what whats when where which while who whom why will with without wont
would wouldnt yes you your youre yours
"""

_JAPANESE = """
です ます した して する から まで ない ある いる こと もの これ それ あれ この その あの
って った ても でも ので のに には では とは ため よう さい くだ ださ ませ せん まし たい
てい いま いて あり なり なる なっ れる られ せる させ など けど だけ ここ そこ どこ どの
なに 何か いい しま すか ます ょう しょ でし いた いか うか ない
"""

ASKING_KANJI = frozenset("何誰")
"""What Japanese asks with (what, who); a text that answers does not hold them."""

STOP_WORDS = frozenset(_ENGLISH.split())
STOP_BIGRAMS = frozenset(_JAPANESE.split())
