"""Tables as upstream draws them."""

from __future__ import annotations


def boxed(header: list[str], rows: list[list[str]]) -> str:
    """Rows in a frame under a centred header. A cell may have several lines."""
    split = [[cell.split("\n") for cell in row] for row in rows]
    columns = range(len(header))
    widths = [max(len(header[column]), *(len(line) for row in split for line in row[column]), 0) for column in columns]

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (width + 2) for width in widths) + right + "\n"

    def line(texts: list[str]) -> str:
        return "│ " + " │ ".join(texts) + " │\n"

    drawn = [rule("┌", "┬", "┐"), line([header[column].center(widths[column]) for column in columns]), rule("├", "┼", "┤")]
    for row in split:
        for number in range(max(len(cell) for cell in row)):
            drawn.append(line([(row[column][number : number + 1] or [""])[0].ljust(widths[column]) for column in columns]))
    return "".join(drawn) + rule("└", "┴", "┘")
