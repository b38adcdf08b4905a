"""Text that never shows in a repr, a log line or a traceback."""

from __future__ import annotations


class Secret(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "[REDACTED]"
