"""Pictures of what the engine did: `timeline` runs records through it and draws what came out."""

from fanlight.viz.played import Step
from fanlight.viz.timeline import timeline

__all__ = ["Step", "timeline"]
