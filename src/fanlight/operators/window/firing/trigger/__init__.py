"""The trigger algebra, run on columns: one row for each pane, one state column for each leaf."""

from fanlight.operators.window.firing.trigger.build import build
from fanlight.operators.window.firing.trigger.node import NOT_DUE, News, Node, Now, State, is_due

__all__ = ["NOT_DUE", "News", "Node", "Now", "State", "build", "is_due"]
