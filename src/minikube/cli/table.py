"""Tables as upstream draws them."""

from __future__ import annotations


def boxed(header: list[str], rows: list[list[str]]) -> str:
    """Rows in a frame under a centred header. A cell may have several lines."""
    split = [[cell.split("\n") for cell in row] for row in rows]
    columns = range(len(header))
    widths = [max(len(header[column]), *(_width(line) for row in split for line in row[column]), 0) for column in columns]

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (width + 2) for width in widths) + right + "\n"

    def line(texts: list[str]) -> str:
        return "│ " + " │ ".join(texts) + " │\n"

    drawn = [rule("┌", "┬", "┐"), line([header[column].center(widths[column]) for column in columns]), rule("├", "┼", "┤")]
    for row in split:
        for number in range(max(len(cell) for cell in row)):
            texts = [(cell[number : number + 1] or [""])[0] for cell in row]
            drawn.append(line([text + " " * (width - _width(text)) for text, width in zip(texts, widths, strict=True)]))
    return "".join(drawn) + rule("└", "┴", "┘")


def _width(text: str) -> int:
    """Columns of a terminal that the text takes: an emoji takes two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
