"""A chart of medians as SVG, with the spread of every measure: plain text, so that a change of it can be read."""

from __future__ import annotations

import statistics
from html import escape

_WIDTH, _LEFT, _ROW, _BAR = 760, 190, 30, 11
_COLOURS = ("#326ce5", "#9aa5b1")
_NOT_SECONDS = ("CPU s", "MB", "MiB", "% of a core")


def chart(figures: dict[str, dict[str, list[float]]]) -> str:
    """Seconds of every command as bars, those of other programs below ours."""
    names = [name for name in next(iter(figures.values())) if not name.endswith(_NOT_SECONDS)]
    longest = max(max(found[name]) for found in figures.values() for name in names if name in found)
    scale = (_WIDTH - _LEFT - 70) / longest
    height = 40 + _ROW * len(names) * len(figures)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="16" fill="#555555">seconds: median, and least to most; shorter is better</text>',
    ]
    top = 30
    for name in names:
        for (label, found), colour in zip(figures.items(), _COLOURS, strict=False):
            if name in found:
                words = name if len(figures) == 1 else f"{name}, {label}"
                parts += _bar(words, found[name], top, scale, colour)
            top += _ROW
    return "\n".join([*parts, "</svg>", ""])


def _bar(words: str, values: list[float], top: int, scale: float, colour: str) -> list[str]:
    median, middle = statistics.median(values), top + _BAR / 2
    end = _LEFT + median * scale
    least, most = _LEFT + min(values) * scale, _LEFT + max(values) * scale
    return [
        f'<text x="{_LEFT - 8}" y="{top + _BAR - 1}" text-anchor="end" fill="#222222">{escape(words)}</text>',
        f'<rect x="{_LEFT}" y="{top}" width="{median * scale:.1f}" height="{_BAR}" fill="{colour}"/>',
        f'<line x1="{least:.1f}" y1="{middle}" x2="{most:.1f}" y2="{middle}" stroke="#222222"/>',
        f'<text x="{max(end, most) + 6:.1f}" y="{top + _BAR - 1}" fill="#222222">{median:.2f}</text>',
    ]
