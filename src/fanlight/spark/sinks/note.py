"""A small file that says what a place holds, and can tell that it is whole."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fanlight.errors import SinkError

VERSION = 1
"""Of the notes beside files and folders."""


def sealed(content: dict[str, Any]) -> str:
    """The text of a note, with its version and its checksum.

    >>> opened(sealed({"query": "q", "batch": 3}), "totals.jsonl.fanlight")
    {'query': 'q', 'batch': 3}
    """
    versioned = {"version": VERSION, **content}
    return json.dumps({**versioned, "checksum": _checksum(versioned)}) + "\n"


def opened(text: str, where: str) -> dict[str, Any]:
    """What `sealed` was given; a `SinkError` if the text is not what it wrote, or a newer Fanlight did."""
    content = content_of(text)
    if content is None:
        raise SinkError(
            f"write_to: {where} is damaged: it is not what Fanlight wrote, so which batches are there cannot be told. "
            "Nothing was written. Restore it from a copy. Or move it away together with what it is about, and start "
            'once with on_mismatch="accept": the query goes on in a new place, and what was moved is all before it.'
        )
    version = content.pop("version")
    if version != VERSION:
        raise SinkError(
            f"write_to: {where} has version {version!r}, and this Fanlight reads version {VERSION}. Nothing was "
            "written. Use the Fanlight that wrote it, or name another place."
        )
    return content


def content_of(text: str) -> dict[str, Any] | None:
    """What a note says, its version too; None if it is not whole."""
    try:
        content = json.loads(text)
        checksum = content.pop("checksum")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return content if checksum == _checksum(content) and "version" in content else None


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
