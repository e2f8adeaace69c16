"""A database of an older program is brought up to date, whatever texts it holds."""

import json

import psycopg

from core.adapters.postgres_schema import SCHEMA, migrate, migrations
from tests.fakes.postgres_server import PostgresServer

ODD = ("plain", "a\x00b", "a\\u0000b", "\\\x00", '"invocation_id":"no"', "\u2028\x1b\U0001f600")


def test_events_of_version_3_are_indexed_by_invocation_whatever_they_say(
    postgres: PostgresServer, url: str
) -> None:
    bodies = [
        json.dumps({"content": {"invocation_id": "not this", "text": text}, "invocation_id": name})
        for name, text in ((f"i-{at}", text) for at, text in enumerate(ODD))
    ]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        connection.execute(f"SET search_path = {SCHEMA}".encode())
        connection.execute("CREATE TABLE migrations (version integer PRIMARY KEY)")
        for number, script in migrations()[:3]:
            connection.execute(script.encode())
            connection.execute("INSERT INTO migrations VALUES (%s)", (number,))
        connection.execute("INSERT INTO sessions VALUES ('a', 'u', 's', 0, 0)")
        for at, body in enumerate(bodies):
            connection.execute(
                "INSERT INTO events (app, user_id, session, event_id, happened_at, body) "
                "VALUES ('a', 'u', 's', %s, 0, %s)",
                (f"e-{at}", body),
            )
        migrate(connection, "the server")
        rows = connection.execute("SELECT event_id, invocation_id FROM events ORDER BY 1")
        assert rows.fetchall() == [(f"e-{at}", f"i-{at}") for at in range(len(ODD))]
