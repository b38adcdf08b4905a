"""The configuration format of nats-server: text in, a tree of values with positions out.

What is promised: every file that nats-server 2.15 parses gives the same tree here (the digest of
the tree, which `-t` prints, is the proof), and a file it refuses is refused with the same text where
that text helps. The exceptions are few: a number may stand right before `]`; a key without a value
and a number with a nonsense suffix are errors instead of being lost; a number too big for 64 bits
after its suffix is an error instead of wrapping; a file that includes itself is refused.

The format is forgiving in ways that no grammar describes well (a bare word ends at any of eight
characters, a value may be followed by a lone slash), so each rule sits in the function that reads
the thing: words in `scanner`, what they make together here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from jetstream_py import limits
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.scanner import DIGIT, INDENT, Position, Scanner, utf8

# Given the name of the including file and the word after `include`: the name of the included file
# and its bytes. Raises ConfigError with the reason when it cannot be read.
Reader: TypeAlias = Callable[[str, str], tuple[str, bytes]]


class Value(msgspec.Struct):
    """A value and the position of its key, or its own position inside an array."""

    data: Data
    at: Position
    used: bool = False  # some `$name` refers to it: its key need not be a known one


Block: TypeAlias = dict[str, Value]
Data: TypeAlias = str | bool | int | float | datetime | Block | list[Value]


def parse(data: bytes, file: str, read: Reader, environ: Mapping[str, str]) -> Block:
    """The tree of a file and everything it includes; keys keep the case they are written in."""
    return _Parser(data, file, read, environ, depth=0, including=(file,)).file_content()


_SPACES: Final = frozenset(" \t\n\v\f\r")
_BLANK = re.compile(r"[ \t\n\v\f\r]*")
_BARE_KEY = re.compile(r"[^ \t\n\v\f\r:=]+")
_INCLUDED_WORD = re.compile(r"[^\n\r;} \t']*")
_STRAY_BRACE = re.compile(r"}[ \t\n\v\f\r]*\Z")  # one too many, at the end of the file
_BCRYPT = re.compile(r"2[abxy]\$")
_BOOLEANS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
}
_NOT_INCLUDABLE: Final = {
    "[": "start of an array",
    "{": "start of a map",
    "(": "start of a block",
    "\\": "escape sequence",
    "\n": "new line",
    "\r": "new line",
} | dict.fromkeys("-0123456789", "start of a number")


class _Parser(Scanner):
    """One file, its scopes of variables, and how deep it lies in others."""

    def __init__(
        self,
        data: bytes,
        file: str,
        read: Reader,
        environ: Mapping[str, str],
        depth: int,
        including: tuple[str, ...],
    ) -> None:
        super().__init__(data, file)
        self.read = read
        self.environ = environ
        self.depth = depth
        self.including = including
        self.scopes: list[Block] = []

    # -- statements --------------------------------------------------------------------------------

    def file_content(self) -> Block:
        if len(self.text) > limits.CONFIG_FILE_SIZE:
            raise ConfigError(f"{self.file}: larger than {limits.CONFIG_FILE_SIZE} bytes")
        if (nul := self.text.find("\0")) >= 0:
            self.fail("Unexpected EOF.", nul)
        root: Block = {}
        self.scopes.append(root)
        while self.skip_blanks_and_comments():
            if _STRAY_BRACE.match(self.text, self.pos):
                break
            if self.peek() == "{":  # JSON: the braces around the whole file
                self.pos += 1
                self.block_content(root)
            else:
                self.statement(root)
                self.end_of_statement()
        return root

    def skip_blanks_and_comments(self) -> bool:
        """False at the end of the file."""
        self.skip(_BLANK)
        while self.comment():
            self.skip(_BLANK)
        if self.peek() == "/":
            self.fail("Unexpected EOF.")
        return self.pos < len(self.text)

    def statement(self, block: Block) -> None:
        if self.peek() in ":=":
            self.fail(f"Unexpected key separator '{self.peek()}'")
        entry = self.key_or_include(block, "Unexpected EOF.")
        if entry is None:
            return
        key, at = entry
        self.skip(_BLANK)
        if not self.peek():
            line, column = self.line_column(self.pos)
            raise ConfigError(f"config is invalid ({self.file}:{line}:{column})")
        if self.peek() in ":=":
            self.pos += 1
            self.skip(INDENT)
        _put(block, key, Value(self.value(), at))

    def end_of_statement(self) -> None:
        while True:
            self.skip(INDENT)
            if self.comment():
                return
            if self.peek() != "/":  # a lone slash is as good as a blank
                break
            self.pos += 1
        if self.peek() not in ("", "\n", "\r", ";", ",", "}"):
            self.fail(
                "Expected a top-level value to end with a new line, comment or EOF, "
                f"but got '{self.char()}' instead."
            )
        self.pos += 1

    def key_or_include(self, block: Block, unterminated: str) -> tuple[str, Position] | None:
        """A key and its position, or nothing when it was an `include`, which is then done."""
        bare = self.peek() not in "\"'"
        key, at = self.key(unterminated)
        if bare and key.lower() == "include" and self.peek() in _SPACES:
            self.include(block)
            return None
        return key, at

    def key(self, unterminated: str) -> tuple[str, Position]:
        quote = self.peek()
        if quote in ('"', "'"):
            key, start = self.quoted(quote, unterminated)
            return key, self.position(start)
        start = self.pos
        return utf8(self.skip(_BARE_KEY)), self.position(start)

    # -- include -----------------------------------------------------------------------------------

    def include(self, block: Block) -> None:
        self.skip(INDENT)
        start = self.peek()
        if start in _NOT_INCLUDABLE:
            self.fail(f"Expected include value but found {_NOT_INCLUDABLE[start]}", self.pos + 1)
        word = self.included_word(start)
        try:
            for key, value in self.included(word).items():
                _put(block, key, value)
        except ConfigError as error:
            raise ConfigError(f"error parsing include file '{word}', {error}") from None

    def included_word(self, quote: str) -> str:
        if quote in ("'", '"'):
            kind = "single" if quote == "'" else "double"
            return self.quoted(quote, f"Unexpected EOF in {kind} quoted include")[0]
        word = utf8(self.skip(_INCLUDED_WORD))
        if self.peek() == "'":
            self.pos += 1
        return word

    def included(self, word: str) -> Block:
        name, data = self.read(self.file, word)
        if name in self.including:
            raise ConfigError(f"it includes itself: {' -> '.join((*self.including, name))}")
        if self.depth >= limits.CONFIG_DEPTH:
            raise ConfigError(f"more than {limits.CONFIG_DEPTH} levels of includes and blocks")
        including = (*self.including, name)
        # Variables of the including file are not seen by the included one.
        parser = _Parser(data, name, self.read, self.environ, self.depth + 1, including)
        return parser.file_content()

    # -- blocks and arrays -------------------------------------------------------------------------

    def block(self) -> Block:
        content: Block = {}
        self.scopes.append(content)
        self.block_content(content)
        self.scopes.pop()
        return content

    def block_content(self, block: Block) -> None:
        """Entries up to and with the closing brace."""
        self.enter()
        while True:
            self.skip(_BLANK)
            if self.comment():
                continue
            if self.peek() == "}":
                self.pos += 1
                break
            self.block_entry(block)
            if self.end_of_entry():
                break
        self.depth -= 1

    def block_entry(self, block: Block) -> None:
        start = self.peek()
        if not start:
            self.fail("Unexpected EOF processing map.")
        if start in ":=":
            self.fail(f"Unexpected key separator '{start}'.")
        if start == "]":
            self.fail("Unexpected array end ']' processing map.")
        entry = self.key_or_include(block, "Unexpected EOF processing quoted map key.")
        if entry is None:
            return
        key, at = entry
        self.skip(_BLANK)
        if self.peek() and self.peek() in ":=":
            self.pos += 1
            self.skip(_BLANK)
        if not self.peek():
            self.fail("Unexpected EOF processing map.")
        if self.peek() == ",":
            self.fail('Unexpected map value terminator ",".')
        if self.peek() == "}":
            self.fail(f"Expected a value for '{key}' but found the end of the block.")
        _put(block, key, Value(self.value(), at))

    def end_of_entry(self) -> bool:
        """True when the entry is the last one of its block."""
        self.skip(INDENT)
        self.comment()
        stop = self.peek()
        if stop == "}":
            self.pos += 1
            return True
        if not stop:
            self.fail("Unexpected EOF processing map.")
        if stop not in "/;,\n\r":
            self.fail(
                'Expected a map value terminator "," or a map terminator "}", '
                f"but got '{self.char()}' instead."
            )
        self.pos += 1
        return False

    def array(self) -> list[Value]:
        self.enter()
        items: list[Value] = []
        while True:
            self.skip(_BLANK)
            if self.comment():
                continue
            if self.peek() == "]":
                self.pos += 1
                break
            if self.peek() in (",", "/"):
                self.fail("Unexpected array value terminator ','.")
            start = self.pos + 1 if self.peek() in ("'", '"') else self.pos
            data = self.value()
            # A block or an array inside an array is known by its end.
            at = self.pos if isinstance(data, dict | list) else start
            items.append(Value(data, self.position(at)))
            if self.end_of_item():
                break
        self.depth -= 1
        return items

    def end_of_item(self) -> bool:
        """True when the item is the last one of its array."""
        self.skip(INDENT)
        self.comment()
        stop = self.peek()
        if stop == "]":
            self.pos += 1
            return True
        if not stop or stop not in "/,\n\r":
            self.fail(
                'Expected an array value terminator "," or an array terminator "]", '
                f"but got '{self.char()}' instead."
            )
        self.pos += 1
        return False

    # -- values ------------------------------------------------------------------------------------

    def enter(self) -> None:
        self.depth += 1
        if self.depth > limits.CONFIG_DEPTH:
            self.fail(f"More than {limits.CONFIG_DEPTH} levels of includes and blocks.")

    def value(self) -> Data:
        start = self.peek()
        if start in DIGIT:
            number = self.number()
            return self.bare_word() if number is None else number
        match start:
            case "{":
                self.pos += 1
                return self.block()
            case "[":
                self.pos += 1
                return self.array()
            case "'":
                return self.single_quoted()
            case '"':
                return self.double_quoted()
            case "(":
                return self.raw_block()
            case "-":
                return self.negative_number()
            case ".":
                self.fail("Floats must start with a digit")
            case "\n" | "\r":
                self.fail("Expected value but found new line", self.pos + 1)
        return self.bare_word()

    def bare_word(self) -> Data:
        word, special = self.word()
        if special and word.lower() in _BOOLEANS:
            return _BOOLEANS[word.lower()]
        if special and word.startswith("$"):
            return self.variable(word[1:])
        return word

    def variable(self, name: str) -> Data:
        if _BCRYPT.match(name):
            return "$" + name
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name].used = True
                return scope[name].data
        line, _ = self.line_column(self.pos)
        if name not in self.environ:
            raise ConfigError(f"variable reference for '{name}' on line {line} can not be found")
        try:
            return self.from_environment(name)
        except ConfigError as error:
            raise ConfigError(
                f"variable reference for '{name}' on line {line} could not be parsed: {error}"
            ) from None

    def from_environment(self, name: str) -> Data:
        """The value of an environment variable, read as if it stood in the file."""
        if self.depth >= limits.CONFIG_DEPTH:
            raise ConfigError("its value refers to itself")
        data = b"value=" + self.environ[name].encode("utf-8", "surrogateescape")
        parser = _Parser(data, self.file, self.read, self.environ, self.depth + 1, self.including)
        return parser.file_content()["value"].data


def _put(block: Block, key: str, value: Value) -> None:
    """The last of equal keys counts, and it counts where it stands."""
    block.pop(key, None)
    block[key] = value
