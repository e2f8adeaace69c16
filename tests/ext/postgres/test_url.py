"""A password that is not percent-encoded is told, and no part of it is."""

import traceback
from urllib.parse import quote

import pytest

from acc_ace.errors import ConfigError
from acc_ace.ext.postgres.database import PostgresDatabase
from tests.fakes.postgres_server import PostgresServer


@pytest.mark.parametrize(
    "password",
    [
        "Zx/9sEcReT+",
        "12/9sEcReT=",
        "12/a?b=sEcReT",
        "se@sEcReT",
        "p%sEcReT",
        "/sEcReT",
        "a?b@sEcReT",
        "a?b@sEc/sEcReT",
        "a?b=1@sEcReT",
    ],
)
@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_password_that_cuts_the_url_wrongly_is_told_without_it(
    scheme: str, password: str
) -> None:
    with pytest.raises(ConfigError, match="percent-encode special characters in the") as caught:
        PostgresDatabase(f"{scheme}://acc:{password}@database:5432/acc")
    assert "sEcReT" not in "".join(traceback.format_exception(caught.value))


def test_a_password_in_a_query_without_a_path_is_told_without_it() -> None:
    with pytest.raises(ConfigError, match="percent-encode special characters in the") as caught:
        PostgresDatabase("postgresql://database:5432?user=acc&password=12@sEcReT")
    assert "sEcReT" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://database:5432?user=ops@tenant&password=sEcReT",
        "postgresql://database?%75ser=ops@tenant&%70assword=sEcReT",
        "postgresql://database?user=ops@tenant/sEcReT",
        "postgresql://database?application_name=desk@sEcReT",
        "postgresql://database?sslmode=require&options=@sEcReT",
        "postgres://database:5432&password=sEcReT",
        "postgres://database/acc&password=sEcReT",
    ],
)
def test_no_part_of_a_query_is_shown_as_the_server(url: str) -> None:
    with pytest.raises(ConfigError, match="or a query where the host or the database") as caught:
        PostgresDatabase(url)
    assert "sEcReT" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://acc:Zx%2F9%40%3F%25@database:5432/acc", "database:5432/acc"),
        ("postgresql://acc:a#b:c+=@database/acc?sslmode=require", "database:5432/acc"),
        ("postgresql://acc:pw@/acc?host=/cloudsql/a:b:c", "/cloudsql/a:b:c:5432/acc"),
        ("postgresql://acc:abc?pw@database:5432/acc", "database:5432/acc"),
        ("postgresql://acc:abc?user%3Dpw@database:5432/acc", "database:5432/acc"),
        ("postgresql://database?user=aiko%40tenant&password=x", "database:5432/"),
        ("postgresql://database", "database:5432/"),
        ("postgresql://acc:pw@database/acc?application_name=me@host", "database:5432/acc"),
        ("postgresql://database/acc?user=aiko@tenant&password=x", "database:5432/acc"),
        ("postgresql://a@database/acc?sslrootcert=/home/me@corp/ca.pem", "database:5432/acc"),
        ("host=database dbname=a@b password=c/d@e", "database:5432/a@b"),
        ("host=database dbname=a password=c&user=d", "database:5432/a"),
    ],
)  # fmt: skip
def test_a_url_that_can_be_read_names_its_server(url: str, name: str) -> None:
    assert PostgresDatabase(url).server == f"PostgreSQL at {name}"


async def test_any_password_works_encoded_or_beside_the_url(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = "a/b@c?d%e:f#g+="
    postgres.execute(f"CREATE ROLE odd LOGIN PASSWORD '{password}'")
    name = postgres.new_database().rpartition("/")[2]
    postgres.execute(f"GRANT CREATE ON DATABASE {name} TO odd")
    place = f"127.0.0.1:{postgres.port}/{name}"
    encoded = PostgresDatabase(f"postgresql://odd:{quote(password, safe='')}@{place}")
    await encoded.check()
    await encoded.close()
    monkeypatch.setenv("PGPASSWORD", password)
    beside = PostgresDatabase(f"postgresql://odd@{place}")
    await beside.check()
    await beside.close()
