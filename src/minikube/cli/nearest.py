"""Names close to one that was mistyped."""

from __future__ import annotations


def nearest(word: str, names: list[str], *, at_most: int = 3) -> list[str]:
    """Names two edits away or nearer, or beginning with the word, as cobra suggests them; the nearest first."""
    word = word.lower()[:64]
    found = []
    for name in names:
        distance = _distance(word, name.lower())
        if distance <= 2 or (word and name.lower().startswith(word)):
            found.append((distance, name))
    return [name for _, name in sorted(found)[:at_most]]


def _distance(one: str, other: str) -> int:
    """Levenshtein's distance."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
