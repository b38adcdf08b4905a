"""Is a filter within another? Asked of all filters of a consumer at once.

A request may carry a hundred thousand filters, so they are not compared pair by pair: they are put into
a tree of their tokens, and each is looked up there. It finds itself; if it finds more, one of them covers
it. Filters that only cross each other (`a.*` and `*.b`) do not find each other.
"""

from __future__ import annotations

from collections.abc import Iterable


class FilterTree:
    """Filters by their tokens."""

    __slots__ = ("_children", "_ends")

    def __init__(self) -> None:
        self._children: dict[bytes, FilterTree] = {}
        self._ends = 0  # filters whose last token leads here

    @classmethod
    def of(cls, filters: Iterable[str]) -> FilterTree:
        root = cls()
        for subject in filters:
            node = root
            for token in subject.encode().split(b"."):
                node = node._children.setdefault(token, cls())
            node._ends += 1
        return root

    def covers_twice(self, subject: str) -> bool:
        """Do two filters cover everything that `subject` covers? It may be one of them."""
        tokens = subject.encode().split(b".")
        found = 0
        ways: list[tuple[FilterTree, int]] = [(self, 0)]
        while ways and found < 2:
            node, depth = ways.pop()
            if depth == len(tokens):
                found += node._ends
                continue
            token, children = tokens[depth], node._children
            if tail := children.get(b">"):
                found += tail._ends
            if token == b">":
                continue
            for key in {token, b"*"}:
                if child := children.get(key):
                    ways.append((child, depth + 1))
        return found >= 2
