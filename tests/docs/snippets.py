"""Snippets of the documentation that are executed.

A fenced block marked `conf` is a configuration, `sh` is a list of commands, `python` is a program; a word
behind the mark names it, and blocks of one name belong together. A block behind `<!-- not run: why -->` is
passed over.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"(<!-- not run: [^\n]+ -->\n+)?^```(\w+)(?: ([\w-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Snippet(NamedTuple):
    kind: str
    name: str
    text: str
    where: str  # file:line

    def placed(self, etc: Path, var: Path) -> str:
        """The text with the reader's directories replaced by those of the test."""
        text = self.text.replace("/etc/nats/", f"{etc}/")
        return text.replace("/var/lib/nats", str(var))


def snippets(file: str, kind: str, name: str = "") -> list[Snippet]:
    """All of a kind and a name that are to be run, in order."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        skipped, *marks, body = match.groups()
        if marks == [kind, name or None] and not skipped:
            line = text.count("\n", 0, match.start(2)) + 1
            found.append(Snippet(kind, name, body, f"{file}:{line}"))
    return found
