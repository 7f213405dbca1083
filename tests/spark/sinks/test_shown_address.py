"""A secret in an address is shown nowhere: a canary in every shape of URL, looked for in all that is printed."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import SinkError
from fanlight.sinks.shown_address import Secrets, shown, shown_word
from fanlight.sinks.sink import blamed
from fanlight.sinks.targets import sinks_of
from fanlight.spark.jdbc.connection import JdbcDatabase

from .orders import corrected, shape_of

CANARY = "cAnArY7"
SHAPE = shape_of(corrected)

DATABASES = {
    "jdbc:postgresql://me:{}@db.example:5432/shop": "jdbc:postgresql://db.example:5432/shop",
    "jdbc:postgresql://db.example/shop?user=me&password={}&ssl=true": "jdbc:postgresql://db.example/shop",
    "jdbc:postgresql://a.example:1,b.example:2/shop?sslpassword={}": "jdbc:postgresql://a.example:1,b.example:2/shop",
    "jdbc:postgresql://me:a%40{}@db.example/shop": "jdbc:postgresql://db.example/shop",
    "jdbc:postgresql://me:a/{}@db.example/shop": "jdbc:postgresql://db.example/shop",
    "jdbc:postgresql://me:a@{}@db.example/shop": "jdbc:postgresql://db.example/shop",
    "jdbc:postgresql://me:{}?x@db.example/shop": "jdbc:postgresql:…",
    "jdbc:postgresql://{}?x@db.example/shop": "jdbc:postgresql:…",
    "jdbc:mariadb://[::1]:3306/shop?passwd={}": "jdbc:mariadb://[::1]:3306/shop",
    "jdbc:mysql://(host=db.example,user=me,password={})/shop": "jdbc:mysql:…",
    "jdbc:mysql://address=(host=db.example)(password={})/shop": "jdbc:mysql:…",
    "jdbc:oracle:thin:me/{}@//db.example:1521/shop": "jdbc:oracle:thin://db.example:1521/shop",
    "jdbc:oracle:thin:me/{}@db.example:1521:shop": "jdbc:oracle:thin://db.example:1521/shop",
    "jdbc:oracle:thin:me/{}": "jdbc:oracle:thin:…",
    "jdbc:sqlserver://db.example:1433;databaseName=shop;password={{a;b{}}};x=y": "jdbc:sqlserver://db.example:1433",
    "jdbc:snowflake://acme.example/?user=me&apiKey={}": "jdbc:snowflake://acme.example",
    "jdbc:redshift:iam://db.example/shop?SecretAccessKey={}": "jdbc:redshift:iam://db.example/shop",
    "jdbc:derby:/var/shop;create=true;bootPassword={}": "jdbc:derby:/var/shop",
    "jdbc:h2:mem:shop;CIPHER=AES;PASSWORD=x {}": "jdbc:h2:mem:shop",
    "jdbc:none:{}": "jdbc:none:…",
    "jdbc:{}": "jdbc:…",
}
OTHERS = {
    "postgresql://me:{}@db.example/shop": "postgresql://db.example/…",
    "https://hooks.example/services/{}": "https://hooks.example/…",
    "me:{}@db.example/shop": "me:…",
    "host=db.example password={}": "…",
    "AccountName=me;AccountKey={}": "…",
    "totals.csv?sig={}": "…",
    "sqlite://me:{}@db.example/totals.db": "sqlite://db.example/totals.db",
    "sqlite:///totals.db?key={}": "sqlite:///totals.db",
    "sqlite:///totals.db?timeout={{{}}}": "sqlite:///totals.db",
    "s3a://AKIA:{}@bucket/totals/": "s3a://bucket/totals/",
    "abfss://box@acme.example/totals.parquet?sig={}.parquet": "abfss://acme.example/totals.parquet",
}


@pytest.mark.parametrize(("url", "seen"), [*DATABASES.items(), *OTHERS.items()])
def test_scheme_host_and_database_are_shown_and_nothing_else(url: str, seen: str) -> None:
    assert shown_word(url.format(CANARY)) == seen


@pytest.mark.parametrize("url", DATABASES)
def test_a_database_is_named_everywhere_without_its_secret(url: str) -> None:
    """In what its sink is and says, and in what is made of a driver that repeats its URL, password and all."""
    url = url.format(CANARY)
    given = {"password": CANARY[::-1], "sslCert": f"x{CANARY}"}
    (sink,) = sinks_of(SHAPE, url, table="t", properties=given, jdbc=JdbcDatabase)
    database: Any = sink.database
    with pytest.raises(SinkError) as raised, blamed(database.address, 0, (OSError,), "Free.", database.secrets):
        raise OSError(f"No suitable driver for {url} and {given}")
    with pytest.raises(fl.SpecError) as unnamed:
        sinks_of(SHAPE, url)
    told = "".join(traceback.format_exception(raised.value)) + str(unnamed.value)
    printed = f"{sink} {sink!r} {sink.places} {database} {told}"
    assert CANARY not in printed
    assert CANARY[::-1] not in printed
    assert "No suitable driver for" in told
    assert database.address in repr(sink)


@pytest.mark.parametrize("url", OTHERS)
@pytest.mark.parametrize("option", ["target", "dead_letters", "accounting"])
def test_what_is_no_target_is_refused_without_its_secret(url: str, option: str) -> None:
    places = {"target": "totals/", option: url.format(CANARY)}
    with pytest.raises(fl.SpecError) as refused:
        sinks_of(SHAPE, **places, table="t", jdbc=JdbcDatabase)
    assert CANARY not in str(refused.value)


def test_what_a_driver_says_is_otherwise_left_as_it_is() -> None:
    """Words of the address that are shown are not taken out, nor are names of options, `true` and a user's name."""
    secrets = Secrets.of("jdbc:postgresql://db.example/shop?password=hunter2&ssl=true", [("user", "me")])
    said = 'FATAL: password authentication failed for user "me" of shop on db.example, ssl is true'
    assert secrets.out_of(f"{said}; hunter2") == f"{said}; ***"
    assert shown("/var/totals/") == "/var/totals/"
    assert shown("file:/var/totals/") == "file:/var/totals/"
    assert shown("hdfs://node:8020/year=2026/") == "hdfs://node:8020/…"
