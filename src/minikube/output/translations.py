"""Messages in the user's language. Code tells its messages in English; where they are shown, they are looked up by what they look like.

So no call has to know about languages, events and logs stay in English for programs and for whoever helps, and English costs nothing:
this module is not even loaded. tools/messages.py keeps the catalogues complete.
"""

from __future__ import annotations

from pathlib import Path

LANGUAGES = ("de", "es", "fr")
LOCALE = Path(__file__).parent / "locale"
_DEEPEST = 8  # a message in a message: "Exiting due to … : {several things …: {each of them, in which …}}"
_BULLET = "    - "  # before each of several reasons; problems.together writes them so


class _Template:
    """A message with places to fill in, taken apart at them."""

    __slots__ = ("last", "pieces", "translation")

    def __init__(self, message: str, translation: str) -> None:
        self.translation = translation
        self.pieces: list[str] = []
        rest = message
        for number in fields(message):
            before, _, rest = rest.partition(f"{{{number}}}")
            self.pieces.append(before)
        self.last = rest

    def match(self, text: str) -> list[str] | None:
        """What was filled in, if the text is this message."""
        first, *others = self.pieces
        end = len(text) - len(self.last)
        if not text.startswith(first) or not text.endswith(self.last) or end < len(first):
            return None
        filled, position = [], len(first)
        for piece in others:
            found = text.find(piece, position, end)
            if found < 0:
                return None
            filled.append(text[position:found])
            position = found + len(piece)
        filled.append(text[position:end])
        return filled


def fields(message: str) -> list[int]:
    """Numbers of the places to fill in, in order."""
    found = [(message.find(f"{{{number}}}"), number) for number in range(20)]
    return [number for place, number in sorted(found) if place >= 0]


class Catalogue:
    """All messages of one language."""

    def __init__(self, language: str) -> None:
        import gettext

        self._exact: dict[str, str] = {}
        self._templates: list[_Template] = []
        try:
            translations = gettext.translation("minikube", str(LOCALE), [language])
        except OSError:
            return
        everything: dict[str, str] = getattr(translations, "_catalog", {})
        for message, translation in everything.items():
            if not message or not isinstance(message, str) or not translation:
                continue
            if fields(message):
                self._templates.append(_Template(message, translation))
            else:
                self._exact[message] = translation
        # The one with the most words of its own is meant where several fit; first those that say how they begin.
        self._templates.sort(key=lambda template: (not template.pieces[0], -sum(map(len, (*template.pieces, template.last)))))

    def translate(self, text: str, depth: int = 0) -> str:
        if text in self._exact:
            return self._exact[text]
        if depth >= _DEEPEST or len(text) < 4:
            return text
        if text.startswith(_BULLET):
            return "\n".join(self._translate_line(line, depth + 1) for line in text.split("\n"))
        title, colon, rest = text.partition(": ")
        if colon and title in self._exact:  # what a start lacks: "Free space: only …"
            return f"{self._exact[title]}: {self.translate(rest, depth + 1)}"
        for template in self._templates:
            filled = template.match(text)
            # What is filled in before the end is a name or a number: with a line break in it, this is another message.
            if filled is not None and not any("\n" in value for value in filled[:-1]):
                return _fill(template.translation, [self.translate(value, depth + 1) for value in filled])
        if "\n" in text:
            return "\n".join(self._translate_line(line, depth + 1) for line in text.split("\n"))
        if "; " in text:
            return "; ".join(self.translate(part, depth + 1) for part in text.split("; "))
        if colon and " " not in title:  # "docker: The driver …"
            return f"{title}: {self.translate(rest, depth + 1)}"
        return text

    def _translate_line(self, line: str, depth: int) -> str:
        """One of several reasons, without its bullet and the id behind it."""
        if not line.startswith(_BULLET):
            return self.translate(line, depth)
        words, opening, id = line.removeprefix(_BULLET).rpartition(" (")
        if opening and id.endswith(")") and id[:-1].isupper():
            return f"{_BULLET}{self.translate(words, depth)}{opening}{id}"
        return _BULLET + self.translate(line.removeprefix(_BULLET), depth)


def _fill(translation: str, values: list[str]) -> str:
    """The translation with the values in their places; braces in the values mean nothing."""
    text, rest = "", translation
    while rest:
        before, brace, rest = rest.partition("{")
        text += before
        number, closing, after = rest.partition("}")
        if brace and closing and number.isdigit() and int(number) < len(values):
            text, rest = text + values[int(number)], after
        else:
            text += brace
    return text
