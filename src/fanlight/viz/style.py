"""How a timeline looks, in light and in dark; and how wide its text is.

The colours are Okabe and Ito's, which the colour-blind can tell apart, darkened or lightened until text in them can be
read; and no meaning has a colour alone, each has a shape too. Renderers that know no media queries show the light ones.
"""

from __future__ import annotations

SIZE = 12.0
SMALL = 11.0
_ADVANCE = 0.61  # of the font's size: what the customary monospaced fonts have, rounded up

_SHARED = """
text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12px; }
.title { font-family: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-size: 17px; font-weight: 600; }
.small { font-size: 11px; }
.last, .key { font-weight: 600; }
.gone { text-decoration: line-through; }
.middle { text-anchor: middle; }
.right { text-anchor: end; }
.bar { stroke-width: 1.5; }
.grid { stroke-width: 1; }
.axis { stroke-width: 1.5; }
.watermark { fill: none; stroke-width: 2; }
.cross { fill: none; stroke-width: 2.5; stroke-linecap: round; }
"""

_LIGHT = {
    "ground": "#ffffff",
    "band": "#f6f8fa",
    "ink": "#1f2328",
    "faint": "#59636e",
    "line": "#dfe4e9",
    "record": "#3d4752",
    "in_record": "#ffffff",
    "early": "#8a5a00",
    "early_bar": "#fdedcf",
    "on_time": "#0a62a0",
    "on_time_bar": "#d9eaf7",
    "late": "#97396f",
    "late_bar": "#f6e1ee",
    "dead": "#b23c00",
    "watermark": "#00735a",
}

_DARK = {
    "ground": "#0d1117",
    "band": "#151b23",
    "ink": "#f0f6fc",
    "faint": "#9198a1",
    "line": "#2a313a",
    "record": "#c9d1d9",
    "in_record": "#0d1117",
    "early": "#f0b437",
    "early_bar": "#3d2e0b",
    "on_time": "#6cb8ee",
    "on_time_bar": "#10304a",
    "late": "#e79fc9",
    "late_bar": "#43203a",
    "dead": "#ff9057",
    "watermark": "#3fcfa5",
}


def _coloured(colours: dict[str, str]) -> str:
    c = colours
    timings = "\n".join(
        f".{name} {{ fill: {c[name]}; stroke: {c[name]}; }} .{name}.bar {{ fill: {c[f'{name}_bar']}; }}"
        for name in ("early", "on_time", "late")
    )
    return f"""
text {{ fill: {c["ink"]}; }}
.ground {{ fill: {c["ground"]}; }}
.band {{ fill: {c["band"]}; }}
.faint {{ fill: {c["faint"]}; }}
.grid {{ stroke: {c["line"]}; }}
.axis {{ stroke: {c["faint"]}; }}
.record {{ fill: {c["record"]}; }}
.late_record {{ fill: {c["late"]}; }}
.in_record {{ fill: {c["in_record"]}; }}
{timings}
.replaced {{ fill: none; stroke: {c["faint"]}; stroke-dasharray: 4 3; }}
.cross {{ stroke: {c["dead"]}; }}
.dead {{ fill: {c["dead"]}; }}
.watermark {{ stroke: {c["watermark"]}; }}
.reached {{ fill: {c["watermark"]}; }}
""".strip()


STYLE = f"{_SHARED.strip()}\n{_coloured(_LIGHT)}\n@media (prefers-color-scheme: dark) {{\n{_coloured(_DARK)}\n}}"


def width_of(text: str, size: float = SIZE) -> float:
    """How wide monospaced text is, whichever of the fonts is there."""
    return len(text) * size * _ADVANCE
