"""Vector files that would never end, or never fit, are refused before anything is built of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanlight.errors import VectorError
from fanlight.testing.vectors import load

HEAD = "format: windowing-vectors/1\n"


def refused(path: Path, text: str) -> str:
    file = path / "cases.yaml"
    file.write_text(HEAD + text)
    with pytest.raises(VectorError) as refusal:
        load(file)
    return str(refusal.value)


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    """Ten lists of ten of the list before: 10^10 values in twelve lines, and every message would print them all."""
    lists = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lists += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    told = refused(tmp_path, "vectors:\n" + "\n".join(lists))
    assert told.endswith("cases.yaml: has the anchor or alias 'a0' in line 3. Write the value out instead.")


def test_an_alias_of_itself_is_refused(tmp_path: Path) -> None:
    assert "anchor or alias 'me' in line 2" in refused(tmp_path, "vectors: &me [*me]")


def test_text_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    """Far below the depth that would exhaust the stack of whoever walks it."""
    assert "nested more than 64 levels deep in line 2" in refused(tmp_path, "vectors: " + "[" * 900 + "]" * 900)


def test_text_that_is_too_long_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    assert "more than 4,194,304 characters" in refused(tmp_path, "# " + "x" * (1 << 22))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("1" + ":1" * 50_000, "a value of 100,001 characters in line 2"),  # base 60: a number of 300,000 bits
        ("1" * 5_000, "is not YAML (Exceeds the limit"),  # longer than Python reads
        ("2026-13-41", "is not YAML (month must be in 1..12"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused(tmp_path: Path, value: str, told: str) -> None:
    assert told in refused(tmp_path, f"vectors: {value}")
