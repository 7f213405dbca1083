"""The trigger algebra, run on columns: one row a pane, one state column a leaf."""

from fanlight.operators.trigger.build import build
from fanlight.operators.trigger.node import News, Node, Now, State

__all__ = ["News", "Node", "Now", "State", "build"]
