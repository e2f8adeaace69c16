"""A conversation about an incident, for `bench.turn_cost`: inputs, answers and states.

What is assumed of an ordinary turn: an input of 40 to 70 tokens, an answer of 60 to 110 (together
about 135), in English with a fifth in Japanese. A turn takes its sentences from three of ten
exchanges, with other hosts and values, so that none is the copy of an earlier one and the state
changes at each. The user corrects an answer at turns 14, 29 and so on, and the answer of turn 10
needs a tool. What a model writes of a state is a sentence of gist, three entities, a relation, a
cue and a doubt. Turns that set a rule have no colon, as a message with one asks instead of pinning.
"""

import re
from collections.abc import Iterator
from itertools import count, islice
from random import Random
from typing import NamedTuple

GOAL = "Our goal is to keep checkout up and to find the cause of the slow queries."
FIRST_RULE = "Never restart db-01 during business hours."
RULE_TURN = 3
RULES = (
    FIRST_RULE,
    "Always name the ticket in a status update.",
    "Never paste a customer's name into a ticket.",
    "Never delete a backup without a second person.",
    "Never page the night shift for a warning.",
    "Always ask before you fail over.",
    "Never raise the connection limit above 400.",
    "Never change a firewall rule on a Friday.",
    "Always write times in UTC.",
    "Never share the replication password in chat.",
)
TOOL_TURN = 10
ACTS_EVERY = 4
CORRECTION_EVERY = 15
JAPANESE = 0.2
"""Share of turns in Japanese."""
ACKNOWLEDGED_TURN = 5
ACKNOWLEDGEMENT = "ok thanks"


_SENTENCE = re.compile(r".+?(?:[.?!](?= |$)|[。？]|$)", re.DOTALL)


class Exchange(NamedTuple):
    """What the user says at a turn, and what a good model makes of it."""

    number: int
    said: str
    answer: str
    gist: str
    entities: tuple[str, ...]
    relation: str
    cue: str
    doubt: str
    rule: str = ""
    goal: str = ""
    corrects: bool = False
    calls_tool: bool = False
    acts: bool = False


class _Beat(NamedTuple):
    said: str
    answer: str
    gist: str
    relation: str
    cue: str
    doubt: str


_BEATS = (
    _Beat(
        "The slow query log of {h} now has {n} entries for the last five minutes, most of them on "
        "the orders table, and checkout answers in {m} ms. What should we look at first?",
        "Look at the plan of the orders query first: {n} entries on one table point to a missing "
        "index or stale statistics, not to load. Run EXPLAIN on the slowest one, compare its row "
        "estimate with the real count. If the estimate "
        "is far off, refresh the statistics before you touch anything else on {h}.",
        "{h} logs {n} slow queries on the orders table and checkout answers in {m} ms.",
        "cause: stale statistics on {h} -> slow orders query",
        "Run EXPLAIN on the slowest orders query of {h}.",
        "Whether statistics or a missing index slow the orders query is not known.",
    ),
    _Beat(
        "I ran the check on {h}: the pool has {n} of 200 connections in use, and {o} holds {m} of "
        "them idle in transaction. Is that a leak?",
        "It looks like one: {m} connections that are idle in a transaction do no work and still "
        "hold locks. List them with their start times and the statement each ran last. When they "
        "all come from {o} and are older than a minute, the worker there does not close its "
        "transaction after an error.",
        "The pool of {h} has {n} connections in use, {m} of them idle on {o}.",
        "cause: open transactions of {o} -> full pool of {h}",
        "List the idle transactions of {o} by age.",
        "It is not shown yet that all idle sessions come from {o}.",
    ),
    _Beat(
        "Update from the storage team: the disk of {h} is {n}% full, and the write-ahead log grew "
        "by {m} GB since noon. The backup job on {o} has been running for two hours.",
        "The log grows because something still needs it, and a long backup is the usual reason. "
        "Check whether the replication slot of {o} is active and how far it is behind. At {n}% "
        "there is room for about an hour of writes. Stop the backup on {o} if the slot is "
        "inactive.",
        "The disk of {h} is {n}% full because the log grew by {m} GB during the backup on {o}.",
        "cause: backup on {o} -> growing log on {h}",
        "Check the replication slot of {o}.",
        "It is open whether the slot of {o} is active.",
    ),
    _Beat(
        "Latency of {h} went from {m} ms to {n}0 ms right after the 14:{n} deploy of the pricing "
        "service, while {o} stays level. Could the deploy be the cause?",
        "The time fits, and {o} staying level speaks against a general problem. Compare the "
        "queries that the pricing service sends before and after the deploy; one new query per "
        "cart item is the pattern to look for. A rollback of the pricing service is safe and takes "
        "a few minutes, so do it while you compare.",
        "Latency of {h} rose after the 14:{n} deploy of the pricing service; {o} is level.",
        "temporal: 14:{n} deploy -> latency of {h}",
        "Roll back the pricing service and watch {h}.",
        "The deploy is suspected, not proven.",
    ),
    _Beat(
        "{h} の CPU 使用率が {n}% まで上がり、{o} への再試行が 1 分に {m} 件出ています。"
        "原因として何が考えられますか？",
        "再試行が負荷を増やしている可能性が高いです。まず {o} のエラー率と、{h} の再試行間隔を"
        "見てください。間隔が固定なら、指数的に延ばすだけで {n}% の使用率は下がります。{o} 側で"
        "接続拒否が出ていれば、そちらが先です。",
        "{h} の CPU は {n}%、{o} への再試行は 1 分に {m} 件。",
        "cause: {o} のエラー -> {h} の再試行",
        "{o} のエラー率を見る。",
        "{o} が接続を拒否しているかは未確認。",
    ),
    _Beat(
        "Ticket OPS-1{n}{m} is open for this. The cache hit rate of {h} fell to {n}%, and each "
        "miss now goes to {o}. Who usually owns the cache configuration?",
        "The platform team owns it, and OPS-1{n}{m} is the right place to ask. A hit rate of {n}% "
        "means that keys expire too early or that their names changed. Compare the time to live of "
        "the ten most frequent keys with last week's.",
        "Cache hits of {h} fell to {n}%, and {o} takes the misses (OPS-1{n}{m}).",
        "dependency: misses of {h} -> load of {o}",
        "Compare the time to live of the most frequent keys.",
        "Why keys are missing from {h} is not known.",
    ),
    _Beat(
        "The network team swapped the cable of {h} at 13:{n} and sees {m} dropped packets since. "
        "Replication to {o} is {n} seconds behind. Does that explain the retries?",
        "Partly. {m} dropped packets explain short stalls, but {n} seconds of lag need a longer "
        "cause. Check whether {o} replays slowly or receives late: the two positions in the "
        "replication view show which. When it receives late, the link is at fault and the other "
        "port of {h} is worth a try.",
        "{h} drops packets since 13:{n}, and {o} is {n} seconds behind.",
        "cause: link of {h} -> lag of {o}",
        "Compare the receive and replay positions of {o}.",
        "Whether {o} receives late or replays slowly is open.",
    ),
    _Beat(
        "Good news: after the change {h} answers in {m} ms again and the queue of {o} is down to "
        "{n} messages. What is left before I can write the status update?",
        "Two things are left: the queue of {o} has to reach its usual level of about ten, and the "
        "error rate of checkout should stay below one percent for a quarter of an hour. In the "
        "update name the start, the effect on customers, the change that helped and what is still "
        "watched.",
        "{h} answers in {m} ms again, and the queue of {o} has {n} messages left.",
        "temporal: change on {h} -> queue of {o} drains",
        "Write the status update when {o} is level.",
        "The final cause is not established.",
    ),
    _Beat(
        "{h} のディスク使用率は {n}% です。{o} のバックアップは {m} 分前に終わりました。"
        "次に何を確認すればよいですか？",
        "{n}% なら急ぐ必要はありません。バックアップが終わったので、ログの領域は次のチェック"
        "ポイントで空きます。10 分後に {h} の使用率をもう一度見て、下がっていなければ"
        "レプリケーションスロットを調べてください。",
        "{h} のディスクは {n}%、{o} のバックアップは完了。",
        "temporal: {o} のバックアップ完了 -> {h} の空き容量",
        "10 分後に {h} のディスクを見る。",
        "使用率が下がるかは未確認。",
    ),
    _Beat(
        "The certificate of {h} expires in {n} hours and the renewal on {o} failed {m} times with "
        "a timeout. Is there a risk for checkout tonight?",
        "Yes, if nothing is done within {n} hours, because checkout calls {h} over TLS and fails "
        "closed. The renewal times out when {o} cannot reach the issuer, so test the outgoing "
        "connection from there first. If that works, renew by hand on {h}.",
        "The certificate of {h} expires in {n} hours; renewal on {o} failed {m} times.",
        "dependency: renewal on {o} -> certificate of {h}",
        "Test the outgoing connection of {o}.",
        "Why the renewal times out is unknown.",
    ),
)

_CORRECTION = _Beat(
    "No, that's wrong: the on-call DBA is not the one you named, it is the storage team's deputy "
    "this week, and the limit on {h} is {n}0 connections, not 200. Please correct that.",
    "Thank you for the correction: the storage team's deputy is on call this week, and {h} allows "
    "{n}0 connections. With that limit the pool is closer to full than it looked, so the idle "
    "transactions matter more. The threshold for the "
    "alert should be set from {n}0 and not from 200.",
    "{h} allows {n}0 connections, and the storage team's deputy is on call.",
    "dependency: limit of {h} -> alert threshold",
    "Set the alert threshold of {h} from {n}0.",
    "Which alerts still use the old limit is open.",
)
_OPENING = _Beat(
    "Since this morning customers report a slow checkout. {h} and {o} both show load, {n}% and "
    "{m}%, and the storage team has no change on record. Where do we start?",
    "Start with what checkout waits for: its traces show whether the time goes to {h}, to {o} or "
    "to a third service. Two loaded hosts with no change on record often share one cause, such as "
    "a slow query or a job that runs on both.",
    "Checkout is slow since this morning; {h} shows {n}% load and {o} {m}%.",
    "temporal: load on {h} -> slow checkout",
    "Look at the traces of checkout.",
    "The first cause is not known.",
)
_HOSTS = ("db-01", "db-02", "cache-03", "web-04", "queue-05", "edge-06", "auth-07", "mail-08")


def exchanges(
    *, rules: int = 2, goal: bool = True, acknowledged: bool = False, acts: bool = False
) -> Iterator[Exchange]:
    """An endless conversation: with two rules they come at turns 3 and 8, with more from 3 on.

    With `acts` the answer of every fourth turn needs a tool that changes something.
    """
    rng = Random(18)  # noqa: S311 - a workload, not a secret
    places = (RULE_TURN, 8) if rules == 2 else range(RULE_TURN, RULE_TURN + rules)
    rule_at = dict(zip(places, RULES, strict=False))
    for number in count(1):
        exchange = _exchange(number, rng)
        if number == 1 and goal:
            exchange = exchange._replace(said=f"{GOAL} {exchange.said}", goal=GOAL)
        if rule := rule_at.get(number, ""):
            # Words behind a colon may be another's, and a rule beside them is asked about.
            said = exchange.said.replace(": ", ", ")
            exchange = exchange._replace(said=f"{said} {rule}", rule=rule)
        if acknowledged and number == ACKNOWLEDGED_TURN:
            exchange = exchange._replace(said=ACKNOWLEDGEMENT, answer="You're welcome.")
        if acts and number % ACTS_EVERY == 0:
            exchange = exchange._replace(acts=True)
        yield exchange


def first(turns: int, *, rules: int = 2, goal: bool = True) -> list[Exchange]:
    """The first turns."""
    return list(islice(exchanges(rules=rules, goal=goal), turns))


def _exchange(number: int, rng: Random) -> Exchange:
    h, o = rng.sample(_HOSTS, 2)
    values = {"h": h, "o": o, "n": rng.randint(11, 59), "m": rng.randint(60, 99)}
    corrects = number % CORRECTION_EVERY == CORRECTION_EVERY - 1
    beat = _mixed(Random(number))  # noqa: S311 - a workload, not a secret
    if number == 1:
        beat = _OPENING
    elif corrects:
        beat = _CORRECTION
    said, answer, gist, relation, cue, doubt = (text.format(**values) for text in beat)
    return Exchange(
        number=number,
        said=said,
        answer=answer,
        gist=gist,
        entities=(f"server:{h}", f"server:{o}", "service:checkout"),
        relation=relation,
        cue=cue,
        doubt=doubt,
        corrects=corrects,
        calls_tool=number == TOOL_TURN,
    )


def _mixed(rng: Random) -> _Beat:
    """Sentences of three exchanges in one language, as one exchange."""
    is_english = rng.random() > JAPANESE
    pool = [beat for beat in _BEATS if beat.said.isascii() is is_english]
    first, second, third = (rng.choice(pool) for _ in range(3))
    between = " " if is_english else ""
    answers = [_sentences(beat.answer) for beat in (first, second, third)]
    return _Beat(
        between.join([*_sentences(first.said)[:-1], _sentences(second.said)[-1]]),
        between.join([answers[0][0], answers[1][1], answers[2][-1]]),
        first.gist,
        first.relation,
        second.cue,
        third.doubt,
    )


def _sentences(text: str) -> list[str]:
    return [found.strip() for found in _SENTENCE.findall(text)]
