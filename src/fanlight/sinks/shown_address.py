"""How an address is printed: only its scheme, host and database.

Secrets in a URL have too many forms to list (`password=`, `apiKey=`, `user/secret@`, a token in a path). So the parts
that may be shown are listed instead. If an address has none of the forms known here, only its scheme is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

_LEFT_OUT = "…"
_SCHEME = re.compile(
    r"(?i)(?:jdbc:[a-z0-9+.-]+:(?:(?:thin|oci|iam|loadbalance|replication|sequential|sqlserver|aurora"
    r"|mem|memory|file|directory|tcp|ssl):)?|(?!jdbc:)[a-z][a-z0-9+.-]+:)"
)
_HOST = r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d+)?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*(?=/|$)")
_SERVICE = re.compile(rf"({_HOST})[:/]([\w$.-]+)")
_NAME = re.compile(r"[\w$.-]+")
_PATH = re.compile(r"[\w./\\~: -]+")
_SEGMENT = re.compile(r"[\w.~+,% -]+")
_IN_FILES = re.compile(r"(?i)jdbc:(?:derby|duckdb|h2|hsqldb|sqlite):")
_FILE_SYSTEM = re.compile(r"(?i)(?:abfss?|adl|dbfs|file|gs|hdfs|o3fs|ofs|oss|s3[an]?|sqlite|viewfs|wasbs?|webhdfs):")

_PIECES = re.compile(r"[^/?;&,=@(){}\"'\s#:]+")
_OPTION = re.compile(r"[\w.]+(?==)")
_HARMLESS = frozenset({"driver", "user", "ssl", "sslmode"})
_SHORTEST = 3
"""Shorter pieces of a URL are in every other word."""


def shown(address: str) -> str:
    """A URL by its scheme, host and database, a path as it is.

    >>> shown("jdbc:postgresql://me:secret@db.example:5432/shop?password=secret")
    'jdbc:postgresql://db.example:5432/shop'
    >>> shown("jdbc:oracle:thin:me/secret@//db.example:1521/shop")
    'jdbc:oracle:thin://db.example:1521/shop'
    >>> shown("jdbc:mysql://(host=db,password=secret)/shop")
    'jdbc:mysql:…'
    >>> shown("totals/")
    'totals/'
    """
    found = _SCHEME.match(address)
    if found is None:
        return f"jdbc:{_LEFT_OUT}" if address.lower().startswith("jdbc:") else address
    scheme = found[0]
    head, options = _cut(address[found.end() :])
    if "@" in options:  # it may belong to a secret with a `?` in it, and then what precedes it is secret too
        return scheme + _LEFT_OUT
    user, at, place = head.rpartition("@")
    if _IN_FILES.match(address) and not at and not place.startswith("//"):
        return scheme + (place if _PATH.fullmatch(place) else _LEFT_OUT)
    if _FILE_SYSTEM.match(address) and place.startswith("/") and not place.startswith("//"):
        return scheme + _path(place)
    if not (user + at + place).startswith("//") and not (at and scheme.lower().startswith("jdbc:oracle:")):
        return scheme + _LEFT_OUT
    return scheme + _host_and_more(scheme, place.removeprefix("//"))


def shown_word(text: str) -> str:
    """Something that is no target: a URL as `shown`, a plain path as it is, and nothing of what might be neither."""
    if _SCHEME.match(text) or text.lower().startswith("jdbc:"):
        return shown(text)
    return text if _PATH.fullmatch(text) and not re.search(r"\s|:", text) else _LEFT_OUT


@dataclass(frozen=True)
class Secrets:
    """The secrets of an address, which must be removed from a driver's messages."""

    words: tuple[str, ...] = ()
    address: str = ""

    @staticmethod
    def of(address: str, properties: Iterable[tuple[str, str]] = ()) -> Secrets:
        """All of an address that is not shown, in every piece, and the values of all properties but the harmless."""
        found = _SCHEME.match(address)
        words = {value for name, value in properties if name.lower() not in _HARMLESS}
        if found is not None:
            rest, seen = address[found.end() :], shown(address)
            names = set(_OPTION.findall(rest))
            words |= {rest, *re.split(r"[?;&@]|=(?!=)", rest), *_PIECES.findall(rest)} - names
            words = {word for word in words if word not in seen}
        words |= {unquote(word) for word in words}
        kept = {word for word in words if len(word) >= _SHORTEST and word.lower() not in ("true", "false")}
        return Secrets(tuple(sorted(kept, key=lambda word: (-len(word), word))), address)

    def out_of(self, text: str) -> str:
        """The text without them, and the address as it is shown."""
        if self.address:
            text = text.replace(self.address, shown(self.address))
        for word in self.words:
            text = text.replace(word, "***")
        return text


def _cut(rest: str) -> tuple[str, str]:
    """The part before the options, and the options."""
    head = re.split(r"[?;#&]", rest, maxsplit=1)[0]
    return head, rest[len(head) :]


def _host_and_more(scheme: str, place: str) -> str:
    if scheme.lower().startswith("jdbc:oracle:") and (service := _SERVICE.fullmatch(place)):
        return f"//{service[1]}/{service[2]}"
    hosts = _HOSTS.match(place)
    if hosts is None:
        return f"//{_path(place)}" if place.startswith("/") and _FILE_SYSTEM.match(scheme) else _LEFT_OUT
    after = place[hosts.end() :]
    if _FILE_SYSTEM.match(scheme):
        return f"//{hosts[0]}{_path(after)}"
    if not scheme.lower().startswith("jdbc:") or not _NAME.fullmatch(after[1:].partition("/")[0]):
        return f"//{hosts[0]}" + ("" if after in ("", "/") else f"/{_LEFT_OUT}")
    return f"//{hosts[0]}/{after[1:].partition('/')[0]}"


def _path(path: str) -> str:
    """The folders of a path, up to the first that is more than a name."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment and not _SEGMENT.fullmatch(segment):
            return "/".join([*kept, _LEFT_OUT])
        kept.append(segment)
    return "/".join(kept)
