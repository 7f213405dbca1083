"""Everything Fanlight raises, in one tree.

    FanlightError
    ├── SpecError (ValueError)     a declaration that cannot mean anything
    │   └── OtherEngine (AttributeError)   asked of a pipeline that runs elsewhere
    ├── InputError (ValueError)    records whose shape does not fit the declaration
    ├── StateError                 stored state that cannot be read or does not fit
    ├── EngineError                a run that cannot go on
    │   ├── BackPressure           firings wait for a downstream that refused them
    │   └── SinkError              a sink that did not take a batch
    ├── VectorError (ValueError)   a vectors file that cannot be read
    └── MissingExtra (ImportError) a package that is not installed, and the extra that brings it

`FanlightWarning` is what it says, once, of something it goes on with.

A message names the field, the value, what follows from it and what to do. Expired records are
outputs (dead letters), never errors.
"""

from __future__ import annotations


class FanlightError(Exception):
    """The root: catch this to catch everything Fanlight raises on purpose.

    >>> import fanlight as fl
    >>> try:
    ...     fl.tumbling("-1 min")
    ... except fl.FanlightError as error:
    ...     print(type(error).__name__)
    SpecError
    """


class SpecError(FanlightError, ValueError):
    """A window, trigger, aggregate or pipeline that cannot mean anything.

    >>> import fanlight as fl
    >>> try:
    ...     fl.hopping("1 min", every="0 s")
    ... except fl.SpecError as error:
    ...     print(str(error)[:41])
    Hopping: `every` (0 s) must be a length a
    """


class OtherEngine(SpecError, AttributeError):
    """What only a pipeline on the other engine has: in this process, or on Spark. So `hasattr` is False for it.

    >>> import fanlight as fl
    >>> counts = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
    >>> hasattr(counts, "df")
    False
    """


class InputError(FanlightError, ValueError):
    """A bundle whose columns or types do not fit the declaration.

    >>> issubclass(InputError, ValueError)
    True
    """


class StateError(FanlightError):
    """Stored state that is damaged, of another version, or of another spec.

    >>> import fanlight as fl
    >>> counts = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
    >>> try:
    ...     fl.WindowOperator.restore(counts.spec, b"no snapshot")
    ... except fl.StateError:
    ...     print("start anew, or from another snapshot")
    start anew, or from another snapshot
    """


class EngineError(FanlightError):
    """A run that cannot go on without a wrong number.

    >>> import fanlight as fl
    >>> counts = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
    >>> operator = counts.operator()
    >>> try:
    ...     operator.windows()
    ... except fl.EngineError:
    ...     print("no records yet")
    no records yet
    """


class BackPressure(EngineError):
    """The downstream refused firings; nothing is accepted until they are taken.

    >>> issubclass(BackPressure, EngineError)
    True
    """


class SinkError(EngineError):
    """A sink did not take a batch; nothing of it was written there, and a restart repeats it.

    >>> issubclass(SinkError, EngineError)
    True
    """


class VectorError(FanlightError, ValueError):
    """A vectors file that is not `windowing-vectors/1` or contradicts itself.

    >>> issubclass(VectorError, FanlightError)
    True
    """


class MissingExtra(FanlightError, ImportError):
    """A package that something needs and that is not installed; the message names the extra that brings it.

    >>> raise MissingExtra("fanlight.spark", "pyspark", "spark")
    Traceback (most recent call last):
    ...
    fanlight.errors.MissingExtra: fanlight.spark needs pyspark, which is not installed here. \
Install it with the extra 'spark': pip install 'fanlight[spark]', or pip install '.[spark]' in a clone.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        """`what` needs `package`, which `extra` brings."""
        super().__init__(
            f"{what} needs {package}, which is not installed here. Install it with the extra {extra!r}: "
            f"pip install 'fanlight[{extra}]', or pip install '.[{extra}]' in a clone."
        )


class FanlightWarning(UserWarning):
    """Something that a run goes on with, and that its user should know; said once a run.

    >>> issubclass(FanlightWarning, UserWarning)
    True
    """
