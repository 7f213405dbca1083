"""The trigger algebra, run on columns: one row a pane, one state column a leaf."""

from fanlight.operators.trigger.build import build
from fanlight.operators.trigger.node import NOT_DUE, News, Node, Now, State, is_due

__all__ = ["NOT_DUE", "News", "Node", "Now", "State", "build", "is_due"]
