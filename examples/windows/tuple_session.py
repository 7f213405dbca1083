"""Tuple sessions: a session of a key ends after two records of the stream without it."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline

words = [{"word": word} for word in ["tea", "tea", "milk", "tea", "milk", "milk", "sugar", "tea"]]

runs = (
    fl.stream(words, time="word", rows=1, delay="0 s")  # the place in the stream is the time; no column is read for it
    .key_by("word")
    .window(fl.tuple_session(2))
    .agg(n=fl.count())
)

PICTURES = {"tuple_session.svg": timeline(runs, words, title="Tuple sessions")}

if __name__ == "__main__":
    for row in runs.table().to_pylist():
        print(row["word"], row["n"])
