"""How many values an aggregate gives: a whole number from 1 up."""

from __future__ import annotations

from fanlight.errors import SpecError


def require_how_many(kind: str, n: object, example: str) -> None:
    """Refuse an `n` that counts nothing; `example` shows one that does.

    >>> require_how_many("Top", "3", "top('price', 10)")
    Traceback (most recent call last):
    ...
    fanlight.errors.SpecError: Top: `n` ('3') must be a whole number from 1 up, and this is text. Write 3, as in \
top('price', 10).
    """
    if isinstance(n, int) and not isinstance(n, bool) and n >= 1:
        return
    if isinstance(n, str):
        wrong = f", and this is text. Write {n}, as in" if n.isdecimal() else ", and this is text. Swap the two, as in"
    elif isinstance(n, int) and not isinstance(n, bool):
        wrong = "; an empty list says nothing. Use"
    else:
        wrong = f", and this is a {type(n).__name__}. Use"
    raise SpecError(f"{kind}: `n` ({n!r}) must be a whole number from 1 up{wrong} {example}.")
