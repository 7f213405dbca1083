"""Reading vector files: YAML text of the format `windowing-vectors/1` to frozen cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanlight.errors import VectorError
from fanlight.testing.vectors.bounded import bounded

FORMAT = "windowing-vectors/1"


@dataclass(frozen=True, slots=True)
class Vector:
    """One case: what comes in, and what must come out.

    The fields stay as they were written; the modules beside this one read them. `repo` and `path` say whose test
    it was.
    """

    name: str
    op: str
    repo: str
    path: str
    fields: Mapping[str, Any]

    def get(self, field: str, default: Any = None) -> Any:
        """A field as written, or `default` where the vector does not say; a null says nothing."""
        value = self.fields.get(field)
        return default if value is None else value

    def mapping(self, field: str) -> Mapping[str, Any]:
        """A field that must be a mapping; empty where the vector does not say."""
        value = self.get(field, {})
        if not isinstance(value, Mapping):
            raise VectorError(f"`{field}` ({value!r}) must be a mapping.")
        return value

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """What happens, in order."""
        return self._mappings("steps")

    @property
    def expect(self) -> Sequence[Mapping[str, Any]]:
        """What must have come out, and after which step."""
        return self._mappings("expect")

    @property
    def records(self) -> list[Mapping[str, Any]]:
        """Every record of every step, in order."""
        records = [record for step in self.steps for record in step.get("in") or ()]
        for record in records:
            if not isinstance(record, Mapping):
                raise VectorError(f"`in`: a record ({record!r}) must be a mapping of columns.")
        return records

    def _mappings(self, field: str) -> Sequence[Mapping[str, Any]]:
        values = self.get(field, [])
        if not isinstance(values, list) or not all(isinstance(value, Mapping) for value in values):
            raise VectorError(f"`{field}` ({values!r}) must be a list of mappings.")
        return values


def load(path: Path) -> list[Vector]:
    """The cases of one file, in order; none for a file of the format that holds data or queries only."""
    try:
        with path.open(encoding="utf-8") as file:
            document = bounded(file)
    except OSError as error:
        raise VectorError(f"{path}: cannot be opened ({error.strerror}). Name a file that can be read.") from None
    except UnicodeDecodeError as error:
        raise VectorError(f"{path}: is not YAML ({error}). Name a vectors file.") from None
    except VectorError as refusal:
        raise VectorError(f"{path}: {refusal}") from None
    if not isinstance(document, Mapping) or not str(document.get("format")).startswith(FORMAT):
        raise VectorError(f"{path}: does not say `format: {FORMAT}`. Name a vectors file.")
    vectors = document.get("vectors") or []
    if not isinstance(vectors, list):
        raise VectorError(f"{path}: `vectors` ({type(vectors).__name__}) must be a list of cases.")
    return [_vector(path, place, fields, document) for place, fields in enumerate(vectors)]


def _vector(path: Path, place: int, fields: Any, document: Mapping[str, Any]) -> Vector:
    if not isinstance(fields, Mapping):
        raise VectorError(f"{path}: case {place} ({fields!r}) must be a mapping of fields.")
    for field in ("name", "op"):
        if not isinstance(fields.get(field), str):
            raise VectorError(f"{path}: case {place} has no `{field}`. Every case needs a name and an op.")
    source = fields.get("source")
    source = source if isinstance(source, Mapping) else {}
    repo = source.get("repo") or document.get("repo") or ""
    return Vector(fields["name"], fields["op"], str(repo), str(source.get("path") or ""), fields)
