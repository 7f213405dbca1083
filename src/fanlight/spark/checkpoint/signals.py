"""Signals to a running query, as files that it reads. There is one signal: the input has ended."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.spark.checkpoint.folder import Folder

_SIGNALS = "fanlight/signals"
_EMPTY = f"{_SIGNALS}/_none"  # Spark reads no file whose name begins like this
_END = f"{_SIGNALS}/end"


@dataclass(frozen=True, slots=True)
class Signals:
    """The folder of signals beside a checkpoint; the query of the checkpoint always reads it."""

    checkpoint: Folder

    @staticmethod
    def of(checkpoint: str) -> Signals:
        """The signals of a checkpoint; the folder is made if it is not there."""
        folder = Folder.of(checkpoint)
        folder.write(_EMPTY, b"")
        return Signals(folder)

    @property
    def folder(self) -> str:
        """Where they are."""
        return f"{self.checkpoint.text.rstrip('/')}/{_SIGNALS}"

    def end(self) -> None:
        """Signal that the input has ended. A second call changes nothing."""
        self.checkpoint.write(_END, b"end\n")
