"""A spec as plain JSON data and back, exactly; and what differs between two of them, in words.

A document is made of text, numbers, truth values, null, lists and objects. An object says what it is under `is`:

    {"is": "Hopping", "size": {"is": "Duration", "micros": 600000000}, …}     a value of the model, field by field
    {"is": "TimeDomain", "name": "EVENT"}                                     one of a few words
    {"is": "user", "name": "Longest", …}                                      Python code: named, and no more than that

No kind has a case of its own: `document_words` lists what a document can hold. A user's own aggregates, kinds of
windows and specs are Python code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.aggregates.code import UserAggregate, UserBatch, UserFold, UserReduce
from fanlight.model.document_words import WORD_OF, WORDS
from fanlight.model.later import LATER
from fanlight.model.preparation import is_expression, text_of
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.triggers import Trigger
from fanlight.model.windows.kind import WindowKind

Document = Any
"""What JSON can write: `None`, `bool`, `int`, `float`, `str`, a list or a dict of them."""

_IS = "is"
_USER = "user"
_PLAIN = (str, bool, int, float, type(None))


def to_document(value: Any) -> Document:
    """A value of the model as JSON data.

    >>> from fanlight.model.windows.tumbling import tumbling
    >>> to_document(tumbling("1 minute"))["size"]
    {'is': 'Duration', 'micros': 60000000}
    """
    kind = type(value)
    if isinstance(value, Enum):
        return {_IS: _known(kind, value), "name": value.name}
    if isinstance(value, UserAggregate | UserBatch | UserFold | UserReduce):
        return _named(value)
    if _is_own_kind(value):
        return _own_kind(value)
    if is_dataclass(value):
        return {_IS: _known(kind, value), **{f.name: to_document(getattr(value, f.name)) for f in _written(value)}}
    if isinstance(value, tuple):
        return [to_document(part) for part in value]
    if kind in _PLAIN and not (kind is float and not isfinite(value)):
        return value
    if is_expression(value):
        return {_IS: _USER, "name": text_of(value)}
    if callable(value):
        return {_IS: _USER, "name": _told(value)}
    raise SpecError(f"document: {value!r} is no value of the model, so a document cannot hold it. Use one that is.")


def from_document(document: Document) -> Any:
    """The value that `to_document` wrote down.

    Fields that a newer model has added take their defaults; a field or a kind that this model does not have is
    refused.
    """
    if isinstance(document, list):
        return tuple(from_document(part) for part in document)
    if not isinstance(document, dict):
        return document
    said = {name: part for name, part in document.items() if name != _IS}
    kind = document.get(_IS)
    if kind == _USER:
        raise SpecError(
            f"document: {said['name']} is made of Python code, which a document names but does not hold. "
            "Give the pipeline itself, where it is defined."
        )
    if kind not in WORDS:
        raise SpecError(f"document: this Fanlight has no {kind!r}. Use the Fanlight that wrote it, or a newer one.")
    made: Any = WORDS[kind]
    if issubclass(made, Enum):
        return made[said["name"]]
    unknown = said.keys() - {f.name for f in fields(made)}
    if unknown:
        raise SpecError(
            f"document: {kind} has no field {', '.join(sorted(unknown))} in this Fanlight. "
            "Use the Fanlight that wrote it, or a newer one."
        )
    return made(**{name: from_document(part) for name, part in said.items()})


def differences(one: Document, other: Document) -> list[str]:
    """What has changed from the document of one spec to that of another, a line for each field.

    >>> from fanlight.model.windows.hopping import hopping
    >>> before, now = hopping("10 minutes", "10 seconds"), hopping("10 minutes", "20 seconds")
    >>> differences({"window": to_document(before)}, {"window": to_document(now)})
    ['window: hopping 10 min every 10 s before, hopping 10 min every 20 s now']
    """
    told: list[str] = []
    for name in {**one, **other}:
        before, now = one.get(name), other.get(name)
        if before != now:
            told += _each(name, before, now) or [_changed(name, before, now)]
    return told


def words(document: Document) -> str:
    """A document in plain words; defaults are left out, unless they make panes fire.

    >>> from fanlight.model.triggers import at_watermark, every
    >>> words(to_document(at_watermark(early=every("10 seconds"))))
    'at watermark early (every 10 s) late (after 1)'
    """
    if isinstance(document, list):
        return (
            ", ".join(f"{part[0]} = {words(part[1])}" if _is_named(part) else words(part) for part in document)
            or "none"
        )
    if not isinstance(document, dict):
        return _plain(document)
    kind: str = document[_IS]
    made = WORDS.get(kind)
    if made is Duration:
        return str(from_document(document))
    if made is not None and issubclass(made, Enum):
        return str(document["name"]).lower().replace("_", " ")
    return " ".join([document["name"] if kind == _USER else _spelled(kind), *_said(made, document)])


def _written(value: Any) -> Iterator[Field[Any]]:
    """The fields that a document has. One that came later is left out at its default: documents stay as they were."""
    return (f for f in fields(value) if f.metadata != LATER or getattr(value, f.name) != f.default)


def _known(kind: type, value: object) -> str:
    if kind not in WORD_OF:
        raise SpecError(
            f"document: {value!r} is a {kind.__name__}, which the model does not have. Use one of its own values."
        )
    return WORD_OF[kind]


def _is_own_kind(value: object) -> bool:
    """Whether this is a kind of window, or the spec of an operator, that a user has made."""
    return isinstance(value, WindowKind | StreamSpec) and type(value) not in WORD_OF


def _own_kind(kind: Any) -> Document:
    """A user's kind of window or spec: its name and its fields, values of the model among them as they are."""
    if not is_dataclass(kind):
        raise SpecError(
            f"document: {type(kind).__qualname__} has no fields that could be written down, so "
            "two of them could not be told apart. Make it a frozen dataclass."
        )
    return {_IS: _USER, "name": type(kind).__qualname__, **{f.name: _part(getattr(kind, f.name)) for f in fields(kind)}}


def _part(value: Any) -> Document:
    if isinstance(value, tuple):
        return [_part(one) for one in value]
    return to_document(value) if type(value) in WORD_OF or _is_own_kind(value) else _told(value)


def _named(aggregate: UserAggregate | UserBatch | UserFold | UserReduce) -> Document:
    """A user's aggregate: its name, its fields as far as JSON can tell them, its types."""
    if isinstance(aggregate, UserBatch):
        said: dict[str, Document] = {"function": _told(aggregate.function), "output": str(aggregate.output_type)}
        said |= {"columns": [*aggregate.names]} if aggregate.names else {}
        return {_IS: _USER, "name": type(aggregate).__qualname__, **said}
    plain = {f.name: _told(getattr(aggregate, f.name)) for f in fields(aggregate) if f.name != "output_type"}
    types = {} if isinstance(aggregate, UserReduce) else _types(aggregate)
    return {_IS: _USER, "name": type(aggregate).__qualname__, **plain, **types}


def _told(part: Any) -> Document:
    if type(part) in _PLAIN:
        return part
    # A function has a name of its own; of anything else the name of its type is all that stays from run to run.
    return part.__qualname__ if callable(part) and hasattr(part, "__qualname__") else type(part).__qualname__


def _types(aggregate: UserAggregate | UserFold) -> dict[str, str]:
    return {"state": str(aggregate.state_type), "output": str(aggregate.output_type)}


def _each(field: str, before: Document, now: Document) -> list[str]:
    """What has changed between two lists of named values, name by name; nothing if they are no such lists."""
    if not all(isinstance(side, list) and all(_is_named(part) for part in side) for side in (before, now)):
        return []
    one, other = dict(before), dict(now)
    changed = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return [_changed(f"{field}.{name}", one.get(name), other.get(name)) for name in changed]


def _is_named(part: Document) -> bool:
    return isinstance(part, list) and len(part) == 2 and isinstance(part[0], str)


def _changed(name: str, before: Document, now: Document) -> str:
    return f"{name.replace('_', ' ')}: {words(before)} before, {words(now)} now"


def _said(kind: type | None, document: Document) -> Iterator[str]:
    """The fields that differ from their defaults. The first field of a kind needs no name."""
    usual = {} if kind is None else {f.name: _default(f) for f in fields(kind)}
    told = [(name, part) for name, part in document.items() if name not in (_IS, "name" if kind is None else _IS)]
    for place, (name, part) in enumerate(told):
        if usual.get(name, MISSING) == part and not _fires(part):
            continue
        leads = place == 0 and (usual.get(name) is MISSING or isinstance(part, str))
        label = name.replace("_", " ")
        if isinstance(part, bool):
            yield label if part else f"not {label}"
        else:
            yield _inner(part) if leads else f"{label} {_inner(part)}"


def _fires(document: Document) -> bool:
    """Whether this is a trigger."""
    kind = WORDS.get(document[_IS]) if isinstance(document, dict) else None
    return kind is not None and issubclass(kind, Trigger)


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return to_document(field.default)
    return MISSING if field.default_factory is MISSING else to_document(field.default_factory())


def _inner(document: Document) -> str:
    """The words of a part, in brackets where they could be taken for words of the whole."""
    told = words(document)
    if isinstance(document, list):
        return f"[{told}]"
    return f"({told})" if isinstance(document, dict) and document[_IS] != "Duration" and " " in told else told


def _plain(value: Document) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) and re.fullmatch(r"\w+", value) else repr(value)


def _spelled(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
