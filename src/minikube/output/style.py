"""Prefixes of messages: an emoji on a terminal, plain ASCII everywhere else."""

from __future__ import annotations

_BULLET = "* "
_INDENT = "  "
_INDENTED_BULLET = "  - "
_WARNING = "! "
_ERROR = "X "

# name -> (prefix on a terminal, prefix elsewhere)
STYLES: dict[str, tuple[str, str]] = {
    "": ("", _BULLET),
    "empty": ("", ""),
    "bullet": ("•  ", _BULLET),
    "indent": ("    ", _INDENT),
    "option": ("    ▪ ", _INDENTED_BULLET),
    "sub": ("    ▪ ", _INDENTED_BULLET),
    "happy": ("😄  ", _BULLET),
    "sparkle": ("✨  ", _BULLET),
    "check": ("✅  ", _BULLET),
    "ready": ("🏄  ", _BULLET),
    "celebrate": ("🎉  ", _BULLET),
    "running": ("🏃  ", _BULLET),
    "restarting": ("🔄  ", _BULLET),
    "thumbs-up": ("👍  ", _BULLET),
    "native": ("🤹  ", _BULLET),
    "provisioning": ("🌱  ", _BULLET),
    "container": ("🔥  ", _BULLET),
    "containerd": ("📦  ", _BULLET),
    "docker": ("🐳  ", _BULLET),
    "cri-o": ("🎁  ", _BULLET),
    "cni": ("🔗  ", _BULLET),
    "download": ("💾  ", _BULLET),
    "build": ("🔨  ", _BULLET),
    "verifying": ("🔎  ", _BULLET),
    "addons": ("🌟  ", _BULLET),
    "waiting": ("⌛  ", _BULLET),
    "notice": ("📌  ", _BULLET),
    "tip": ("💡  ", _BULLET),
    "documentation": ("📘  ", _BULLET),
    "issues": ("🍿  ", _BULLET),
    "url": ("👉  ", _INDENT),
    "workaround": ("👉  ", _INDENT),
    "shrug": ("🤷  ", _BULLET),
    "meh": ("🙄  ", _WARNING),
    "sad": ("😿  ", _BULLET),
    "stopping": ("✋  ", _BULLET),
    "stopped": ("🛑  ", _BULLET),
    "power-off": ("🛑  ", _BULLET),
    "deleting": ("🔥  ", _BULLET),
    "deleted": ("💀  ", _BULLET),
    "pause": ("⏸️  ", _BULLET),
    "unpause": ("⏯️  ", _BULLET),
    "dry-run": ("🌵  ", _BULLET),
    "kubectl": ("💗  ", _BULLET),
    "localhost": ("🤹  ", _BULLET),
    "os": ("ℹ️   ", _BULLET),
    "permissions": ("🔑  ", _BULLET),
    "timing": ("⏱️  ", _BULLET),
    "conflict": ("💢  ", _WARNING),
    "warning": ("❗  ", _WARNING),
    "failure": ("❌  ", _ERROR),
    "fatal": ("💣  ", _ERROR),
    "unmet": ("⛔  ", _ERROR),
}


def prefix(style: str, *, fancy: bool) -> str:
    """What stands before a message of that style; an unknown style is an ordinary bullet."""
    return STYLES.get(style, STYLES[""])[0 if fancy else 1]
