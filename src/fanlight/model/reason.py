"""Why a record could not be used, or a value not be shown."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """The reason on a dead letter.

    >>> Reason("expired").name
    'EXPIRED'
    """

    EXPIRED = "expired"  # every window of the record has expired
    FINISHED = "finished"  # the trigger of its pane has finished
    NO_WINDOW = "no_window"  # no window covers its time
    MALFORMED = "malformed"  # a value does not fit its column; the detail says which
    NULL_TIME = "null_time"
    UNPARSABLE_TIME = "unparsable_time"
    TIME_OUT_OF_RANGE = "time_out_of_range"  # outside the years 1 to 9999
    TOO_FAR_AHEAD = "too_far_ahead"  # further ahead of the clock than the stream allows
    NO_SUCH_OPERATION = "no_such_operation"  # of a change: what it should do is no operation; the detail says what
    NO_SUCH_ROW = "no_such_row"  # of a delete: no row is the one that it names
    REFUSED = "refused"  # a row of the result, which the database it goes to does not take
    VALUE_OUT_OF_RANGE = "value_out_of_range"  # of a firing, not of a record: a value that its type cannot hold
