"""Sessions that touch: are records exactly one gap apart in one session?"""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def click(time: str, user: str) -> dict[str, str]:
    """A click on the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "user": user}


clicks = [click("12:00", "ann"), click("12:05", "ann"), click("12:09", "ann"), click("12:15", "ann")]

stream = fl.stream(clicks, time="ts", rows=1, delay="0 s").key_by("user")

apart = stream.window(fl.session("5 minutes")).agg(clicks=fl.count())
touching = stream.window(fl.session("5 minutes", touching=True)).agg(clicks=fl.count())

PICTURES = {
    "session_apart.svg": timeline(apart, clicks, title="Exactly one gap apart: two sessions"),
    "session_touching.svg": timeline(touching, clicks, title="The same records, touching: one session"),
}

if __name__ == "__main__":
    for name, visits in (("apart", apart), ("touching", touching)):
        for row in visits.table().to_pylist():
            start, end = row["window"]["start"], row["window"]["end"]
            print(f"{name:<9}{start:%H:%M}-{end:%H:%M}", row["clicks"])
