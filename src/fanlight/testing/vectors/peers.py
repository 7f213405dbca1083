"""Whose case a vector is."""

from __future__ import annotations

from fanlight.testing.vectors.load import Vector

_PRESETS = {
    "flink": "flink",
    "kafka": "kafka",
    "apex-malhar": "malhar",
    "samza": "samza",
    "spark": "spark",
    "risingwave": "risingwave",
}


def peer_of(vector: Vector) -> str:
    """The preset of `Semantics` that is named after the vector's peer; Fanlight's own for all others."""
    project = vector.repo.rsplit("/", 1)[-1]
    if project == "beam":
        return "beam_python" if vector.path.startswith("sdks/python") else "beam"
    return _PRESETS.get(project, "fanlight")
