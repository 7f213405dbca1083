"""Everything Fanlight raises, in one tree.

    FanlightError
    ├── SpecError (ValueError)     a declaration that cannot mean anything
    │   └── OtherEngine (AttributeError)   asked of a pipeline that runs elsewhere
    ├── InputError (ValueError)    records whose shape does not fit the declaration
    ├── StateError                 stored state that cannot be read or does not fit
    ├── EngineError                a run that cannot go on
    │   ├── BackPressure           firings wait for a downstream that refused them
    │   └── SinkError              a sink that did not take a batch
    └── VectorError (ValueError)   a vectors file that cannot be read

`FanlightWarning` is what it says, once, of something it goes on with.

A message names the field, the value, what follows from it and what to do. Expired records are
outputs (dead letters), never errors.
"""

from __future__ import annotations


class FanlightError(Exception):
    """The root: catch this to catch everything Fanlight raises on purpose."""


class SpecError(FanlightError, ValueError):
    """A window, trigger, aggregate or pipeline that cannot mean anything."""


class OtherEngine(SpecError, AttributeError):
    """What only a pipeline on the other engine has: in this process, or on Spark. So `hasattr` is False for it."""


class InputError(FanlightError, ValueError):
    """A bundle whose columns or types do not fit the declaration."""


class StateError(FanlightError):
    """Stored state that is damaged, of another version, or of another spec."""


class EngineError(FanlightError):
    """A run that cannot go on without a wrong number."""


class BackPressure(EngineError):
    """The downstream refused firings; nothing is accepted until they are taken."""


class SinkError(EngineError):
    """A sink did not take a batch; nothing of it was written there, and a restart repeats it."""


class VectorError(FanlightError, ValueError):
    """A vectors file that is not `windowing-vectors/1` or contradicts itself."""


class FanlightWarning(UserWarning):
    """Something that a run goes on with, and that its user should know; said once a run."""
