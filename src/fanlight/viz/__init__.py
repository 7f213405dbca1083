"""Pictures of what the engine did: `timeline` runs records through it and draws what came out, `stages` all stages."""

from fanlight.viz.played import TimelineStep
from fanlight.viz.stages import stages
from fanlight.viz.timeline import timeline

__all__ = ["TimelineStep", "stages", "timeline"]
