"""Snippets of the documentation that are executed.

A fenced block marked `conf` is a configuration, `sh` is a list of commands, `python` is a program. In each
of them these words stand for what the reader has: files below `/etc/nats/` and `/var/lib/nats/` are those
of the test. A block behind `<!-- not run: why -->` is passed over.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(<!-- not run: [^\n]+ -->\n+)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Snippet(NamedTuple):
    kind: str
    text: str
    where: str  # file:line

    def placed(self, etc: Path, var: Path) -> str:
        """The text with the reader's directories replaced."""
        text = self.text.replace("/etc/nats/", f"{etc}/")
        return text.replace("/var/lib/nats", str(var))


def snippets(file: str, kind: str) -> list[Snippet]:
    """All of a kind that are to be run, in order."""
    text = (ROOT / file).read_text()
    found = []
    for match in _BLOCK.finditer(text):
        skipped, name, body = match.groups()
        if name == kind and not skipped:
            line = text.count("\n", 0, match.start(2)) + 1
            found.append(Snippet(name, body, f"{file}:{line}"))
    return found
