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


def join_peer_of(vector: Vector) -> str:
    """The preset of `JoinSemantics` that is named after the vector's peer; Flink's SQL has one of its own."""
    peer = peer_of(vector)
    return "flink_sql" if peer == "flink" and vector.path.startswith("flink-table") else peer


def peer_of(vector: Vector) -> str:
    """The preset of `Semantics` that is named after the vector's peer; Fanlight's own for all others."""
    project = vector.repo.rsplit("/", 1)[-1]
    if project == "beam":
        return "beam_python" if vector.path.startswith("sdks/python") else "beam"
    return _PRESETS.get(project, "fanlight")
