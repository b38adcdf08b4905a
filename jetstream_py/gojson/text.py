"""JSON with the error texts of Go's decoder.

Clients show these texts to people, and tests of other projects match them, so they are part of the
behaviour: which byte was wrong, in which state, at which offset (counted behind that byte).

A value becomes a `Node`. Nodes keep the place of their text, because some refusals quote it, and the
spelling of numbers, because `1e3` is no integer. Objects keep their keys in order, twice if sent twice.
Nothing recurses: depth is bounded by `MAX_DEPTH` and not by the interpreter's stack.
"""

from __future__ import annotations

import re
from typing import Final

from jetstream_py.gotext import quote, utf8, wire_text

MAX_DEPTH: Final = 10_000
_ENDS_EARLY: Final = "unexpected end of JSON input"

_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# The beginnings of numbers: where a number breaks off is the end of the longest of these.
_NUMBER_START: Final = re.compile(
    rb"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE](?:[+-]?[0-9]*)?)?)?|[eE](?:[+-]?[0-9]*)?)?)?"
)
_HEX: Final = re.compile(rb"[0-9a-fA-F]{4}\Z")
_HEX_START: Final = re.compile(rb"[0-9a-fA-F]*\Z")
_LITERALS: Final = {
    b"t": (b"true", "bool", True),
    b"f": (b"false", "bool", False),
    b"n": (b"null", "null", None),
}
_ESCAPED: Final = {
    0x22: '"',
    0x5C: "\\",
    0x2F: "/",
    0x62: "\b",
    0x66: "\f",
    0x6E: "\n",
    0x72: "\r",
    0x74: "\t",
}

Pairs = list[tuple[str, "Node"]]
Items = list["Node"]


class JsonError(Exception):
    """The text is no JSON, or not the JSON that was asked for; the message is Go's."""


class SyntaxFault(JsonError):
    """The text is no JSON. `offset` is the place behind the fault; None for one that ends early."""

    def __init__(self, text: str, offset: int | None) -> None:
        super().__init__(text)
        self.offset = offset


class Node:
    """A value: its kind in Go's words, what it is, and where its text is."""

    __slots__ = ("end", "kind", "start", "value")

    def __init__(self, kind: str, value: object, start: int, end: int) -> None:
        self.kind = kind
        self.value = value
        self.start = start
        self.end = end

    @property
    def pairs(self) -> Pairs:
        assert isinstance(self.value, list)
        return self.value

    @property
    def items(self) -> Items:
        assert isinstance(self.value, list)
        return self.value


def skip_blanks(text: bytes, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match
    return match.end()


def parse(text: bytes, at: int = 0) -> Node:
    """The value that starts at `at` or after the blanks there."""
    return _Parser(text).value(at)


class _Parser:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.stack: list[Node] = []

    def value(self, at: int) -> Node:
        """One value: scalars are read whole, containers are pushed and filled."""
        stack = self.stack
        node = self._begin(skip_blanks(self.text, at))
        while True:
            if node.end < 0:  # a container that has just been opened
                at = skip_blanks(self.text, node.start + 1)
                if self._byte(at) == (b"}" if node.kind == "object" else b"]"):
                    node.end = at + 1
                    stack.pop()
                    continue
                node = self._member(node, at)
                continue
            if not stack:
                return node
            parent = stack[-1]
            at = skip_blanks(self.text, node.end)
            byte = self._byte(at)
            if byte == b",":
                node = self._member(parent, skip_blanks(self.text, at + 1))
            elif byte == (b"}" if parent.kind == "object" else b"]"):
                parent.end = at + 1
                node = stack.pop()
            else:
                where = "object key:value pair" if parent.kind == "object" else "array element"
                raise self._unexpected(at, f"after {where}")

    def _member(self, parent: Node, at: int) -> Node:
        """The beginning of the next value in a container, with its key if that is an object."""
        if parent.kind == "array":
            node = self._begin(at)
            parent.items.append(node)
            return node
        if self._byte(at) != b'"':
            raise self._unexpected(at, "looking for beginning of object key string")
        key, at = self._string(at)
        at = skip_blanks(self.text, at)
        if self._byte(at) != b":":
            raise self._unexpected(at, "after object key")
        node = self._begin(skip_blanks(self.text, at + 1))
        parent.pairs.append((key, node))
        return node

    def _begin(self, at: int) -> Node:
        byte = self._byte(at)
        if byte == b'"':
            text, end = self._string(at)
            return Node("string", text, at, end)
        if byte in b"{[":
            node = Node("object" if byte == b"{" else "array", [], at, -1)
            self.stack.append(node)
            if len(self.stack) > MAX_DEPTH:
                raise SyntaxFault("exceeded max depth", at + 1)
            return node
        if byte in b"-0123456789":
            return self._number(at)
        if byte in _LITERALS:
            return self._literal(at)
        raise self._unexpected(at, "looking for beginning of value")

    def _number(self, at: int) -> Node:
        whole = _NUMBER.match(self.text, at)
        begun = _NUMBER_START.match(self.text, at)
        assert begun
        if whole is None or begun.end() > whole.end():
            self._byte(begun.end())
            raise self._unexpected(begun.end(), "in numeric literal")
        return Node("number", whole[0].decode(), at, whole.end())

    def _literal(self, at: int) -> Node:
        word, kind, value = _LITERALS[self.text[at : at + 1]]
        for i in range(1, len(word)):
            want = word[i : i + 1]
            if self._byte(at + i) != want:
                where = f"in literal {word.decode()} (expecting '{want.decode()}')"
                raise self._unexpected(at + i, where)
        return Node(kind, value, at, at + len(word))

    def _string(self, at: int) -> tuple[str, int]:
        """The text of the string whose quote is at `at`, and the place behind it."""
        parts: list[str] = []
        at += 1
        while True:
            plain = _PLAIN.match(self.text, at)
            assert plain
            if plain.end() > at:
                parts.append(utf8(plain[0]))
            at = plain.end()
            byte = self._byte(at)
            if byte == b'"':
                return "".join(parts), at + 1
            if byte != b"\\":
                raise self._unexpected(at, "in string")
            char, at = self._escape(at)
            parts.append(char)

    def _escape(self, at: int) -> tuple[str, int]:
        self._byte(at + 1)
        char = _ESCAPED.get(self.text[at + 1])
        if char is not None:
            return char, at + 2
        if self.text[at + 1] != 0x75:
            raise self._bad_escape(at, at + 2)
        code = self._hex(at)
        at += 6
        if 0xD800 <= code < 0xDC00 and self.text[at : at + 2] == b"\\u":
            low = self._hex(at)
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00), at + 6
        return ("\ufffd" if 0xD800 <= code < 0xE000 else chr(code)), at

    def _hex(self, at: int) -> int:
        """The four digits of the escape at `at`."""
        digits = self.text[at + 2 : at + 6]
        if _HEX.match(digits):
            return int(digits, 16)
        if len(digits) < 4 and _HEX_START.match(digits):
            raise SyntaxFault(_ENDS_EARLY, None)
        raise self._bad_escape(at, at + 6)

    def _bad_escape(self, start: int, end: int) -> SyntaxFault:
        end = min(end, len(self.text))
        sequence = utf8(self.text[start:end])
        return SyntaxFault(f"invalid escape sequence `{sequence}` in string", end)

    def _byte(self, at: int) -> bytes:
        if at >= len(self.text):
            raise SyntaxFault(_ENDS_EARLY, None)
        return self.text[at : at + 1]

    def _unexpected(self, at: int, where: str) -> SyntaxFault:
        self._byte(at)
        return unexpected(self.text, at, where)


def unexpected(text: bytes, at: int, where: str) -> SyntaxFault:
    """There is something at `at` that cannot be `where` the parser is."""
    char = wire_text(text[at : at + 4])[0]
    size = len(char.encode("utf-8", "surrogateescape"))
    return SyntaxFault(f"invalid character {_quote_rune(char)} {where}", at + size)


def _quote_rune(char: str) -> str:
    if char == "'":
        return "'\\''"
    return "'\"'" if char == '"' else f"'{quote(char)[1:-1]}'"
