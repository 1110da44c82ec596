"""What must not be written down: passwords and tokens in command lines, URLs and messages."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Iterable

HIDDEN = "xxxxx"
_SIGNS = ("token", "passw", "secret", "credential", "api-key", "api_key", "apikey", "access-key", "access_key", "authoriz", "signature")
_NAMES_OF_FILES = ("-file", "_file", "-path", "_path", "-dir", "_dir")
# Flags with NAME=VALUE whose values are the user's environment, which is where people keep secrets.
_ENVIRONMENT = ("--docker-env", "--build-env", "--build-opt")
_SCHEMES = ("bearer", "basic")  # of HTTP's Authorization header


def without_secrets(text: str) -> str:
    """A message or log line in which every word that looks like a secret is hidden."""
    return " ".join(hide(text.split(" ")))


def hide(words: Iterable[str]) -> list[str]:
    """The words of a command line with secrets hidden: passwords in URLs, and values whose names say what they are."""
    hidden: list[str] = []
    before = ""
    for word in words:
        hidden.append(_hide(word, before))
        before = word
    return hidden


def _hide(word: str, before: str) -> str:
    label = before.strip("\"'{,[(").rstrip("\"'")
    if before in _ENVIRONMENT:
        return _without_value(word)
    if before.startswith("--") and "=" not in before and not word.startswith("-") and _sounds_secret(before):
        return HIDDEN
    if word and ((label.endswith(":") and _sounds_secret(label[:-1].rstrip("\"'"))) or label.lower() in _SCHEMES):
        return HIDDEN
    for flag in _ENVIRONMENT:
        if word.startswith(f"{flag}="):
            return f"{flag}={_without_value(word[len(flag) + 1 :])}"
    return _without_assignment(_without_userinfo(word))


def _without_value(assignment: str) -> str:
    name, equals, _ = assignment.partition("=")
    return f"{name}={HIDDEN}" if equals else name


def _without_assignment(word: str) -> str:
    """`apiserver.oidc-token=abc` without what follows the name that sounds secret."""
    parts = word.split("=")
    for number, part in enumerate(parts[:-1]):
        if _sounds_secret(_last_name(part)):
            return "=".join(parts[: number + 1]) + f"={HIDDEN}"
    return word


def _without_userinfo(word: str) -> str:
    """`http://user:password@host/` without the part before the @, which may be a token alone."""
    first, *rest = word.split("://")
    cleaned = [first]
    for part in rest:
        end = min((place for sign in "/?#\"'\n" if (place := part.find(sign)) >= 0), default=len(part))
        authority = part[:end]
        at = authority.rfind("@")
        cleaned.append((HIDDEN + authority[at:] if at >= 0 else authority) + part[end:])
    return "://".join(cleaned)


def _last_name(text: str) -> str:
    start = len(text)
    while start and (text[start - 1].isalnum() or text[start - 1] in "-_."):
        start -= 1
    return text[start:]


def _sounds_secret(name: str) -> bool:
    name = name.lower()
    return any(sign in name for sign in _SIGNS) and not name.endswith(_NAMES_OF_FILES)
