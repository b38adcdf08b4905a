"""A subject by two names: what an exporter calls it, and what an importer does.

Both names are patterns. Their wildcards are paired by number: `*` counts from the left, and in the importer's
name `$2` says which one it is, so `orders.*.*` may be `$2.from.$1` there. A final `>`
stands for the same rest on both sides.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBERED: Final = re.compile(
    rb"\$([0-9]{1,9})\Z|\{\{\s*[wW]ildcard\(\s*([0-9]{1,9})\s*\)\s*\}\}\Z"
)

_Side = list["bytes | int"]  # words, and the numbers of wildcards


class Rename:
    """Made from the two names."""

    __slots__ = ("_exported", "_exported_tail", "_local", "_local_tail", "exported", "local")

    def __init__(self, exported: bytes, local: bytes) -> None:
        self._exported, self._exported_tail = _parse(exported, numbered=False)
        self._local, self._local_tail = _parse(local, numbered=True)
        self.exported = _pattern(self._exported, self._exported_tail)
        self.local = _pattern(self._local, self._local_tail)

    def to_local(self, subject: bytes) -> bytes:
        """The importer's name of a subject (or of a pattern) that `exported` covers."""
        return _translate(subject, self._exported, self._local, self._local_tail)

    def to_exported(self, subject: bytes) -> bytes:
        """The exporter's name of a subject (or of a pattern) that `local` covers. A wildcard that the
        local name does not mention stays one."""
        return _translate(subject, self._local, self._exported, self._exported_tail)


def _parse(name: bytes, numbered: bool) -> tuple[_Side, bool]:
    tokens = name.split(b".")
    tail = tokens[-1] == b">"
    if tail:
        tokens.pop()
    side: _Side = []
    count = 0
    for token in tokens:
        if token == b"*":
            count += 1
            side.append(count)
        elif numbered and (match := _NUMBERED.match(token)):
            side.append(int(match[1] or match[2]))
        else:
            side.append(token)
    return side, tail


def _pattern(side: _Side, tail: bool) -> bytes:
    words = [b"*" if isinstance(token, int) else token for token in side]
    return b".".join([*words, b">"] if tail else words)


def _translate(subject: bytes, have: _Side, want: _Side, tail: bool) -> bytes:
    tokens = subject.split(b".")
    known = {
        token: word for token, word in zip(have, tokens, strict=False) if isinstance(token, int)
    }
    made = [known.get(token, b"*") if isinstance(token, int) else token for token in want]
    if tail:
        made += tokens[len(have) :]
    return b".".join(made)
