"""A small file that describes the content of a place, with a checksum."""

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
    return json.dumps({**versioned, "checksum": checksum_of(versioned)}) + "\n"


def opened(text: str, where: str) -> dict[str, Any]:
    """The content that `sealed` wrote; a `SinkError` if the text is damaged or from a newer Fanlight."""
    content = content_of(text)
    if content is None:
        raise SinkError(
            f"write_to: {where} is damaged: it is not what Fanlight wrote, so it is unknown which batches are there. "
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
    """The content of a note, its version included; None if it is damaged."""
    try:
        content = json.loads(text)
        checksum = content.pop("checksum")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return content if checksum == checksum_of(content) and "version" in content else None


def checksum_of(content: dict[str, Any]) -> str:
    """The checksum of a note that says this, its version too."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
