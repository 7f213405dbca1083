"""One case from its fields to its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from fanlight.testing.vectors.accumulate import accumulate
from fanlight.testing.vectors.adopt import NotAdoptedError, refuse
from fanlight.testing.vectors.after_windows import fill, top
from fanlight.testing.vectors.assign import assign, assign_groups
from fanlight.testing.vectors.by_instant import by_instant
from fanlight.testing.vectors.chain import chained
from fanlight.testing.vectors.cogroup import cogroup
from fanlight.testing.vectors.columns import Columns
from fanlight.testing.vectors.declare import declare, is_on_close_view
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.emitted import emitted_watermarks
from fanlight.testing.vectors.expect import differences, groups_of, require_attributes
from fanlight.testing.vectors.join.play import join
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.observe import firing_attributes, window_attributes
from fanlight.testing.vectors.over import over
from fanlight.testing.vectors.play import play_vector
from fanlight.testing.vectors.sort import sort
from fanlight.testing.vectors.unique import unique


class Status(Enum):
    """How a case came out."""

    PASS = "pass"
    FAIL = "fail"
    NOT_ADOPTED = "not adopted"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A case's name, how it came out and why; a pass needs no reason."""

    name: str
    status: Status
    reason: str = ""


def replay(vector: Vector, engine: str = "embedded") -> Verdict:
    """Run one case; whatever goes wrong in it is its verdict, never the run's."""
    try:
        refuse(vector)
        problems = _OPS[vector.op](vector, engine)
    except NotAdoptedError as reason:
        return Verdict(vector.name, Status.NOT_ADOPTED, str(reason))
    except Exception as error:  # noqa: BLE001 - a case that raises has failed; the others still run
        return Verdict(vector.name, Status.FAIL, f"{type(error).__name__}: {error}")
    if problems:
        return Verdict(vector.name, Status.FAIL, "; ".join(problems))
    return Verdict(vector.name, Status.PASS)


def _window_agg(vector: Vector, engine: str) -> list[str]:
    spec = declare(vector)
    reads_state = vector.get("expect_mode") == "state" and not is_on_close_view(vector)
    require_attributes(vector, window_attributes(spec) if reads_state else firing_attributes(spec))
    columns = Columns.of(vector, spec)
    require_attributes(vector, set(columns.schema.names), "late_output")
    driver = ENGINES[engine](spec, columns.schema)
    states = groups_of(vector) if reads_state else ()
    return differences(vector, play_vector(vector, spec, columns, driver, states=states))


_OPS: dict[str, Callable[[Vector, str], list[str]]] = {
    "window_agg": _window_agg,
    "window_agg_chain": chained,
    "assign": assign,
    "assign_groups": assign_groups,
    "accumulation": accumulate,
    "watermark_merge": lambda vector, _: emitted_watermarks(vector),
    "watermark_gen": lambda vector, _: emitted_watermarks(vector),
    "cogroup": cogroup,
    "sort": sort,
    "over": over,
    "dedup_within_watermark": unique,
    "window_topn": top,
    "gap_fill": fill,
    "join": join,
    "group_by_ts": lambda vector, engine: _window_agg(by_instant(vector), engine),
}
