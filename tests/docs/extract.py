"""Blocks of a page: what stands between fences, with the words behind the opening one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```(\w+)(?: ([\w-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    name: str  # what the block is about; blocks of one name belong together
    text: str


def blocks(page: str, language: str, name: str = "") -> list[Block]:
    """The blocks of a page in that language, in their order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = [Block(kind, about or "", body) for kind, about, body in _FENCE.findall(text)]
    return [block for block in found if (block.language, block.name) == (language, name)]
