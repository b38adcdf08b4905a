"""The configuration format of nats-server: text in, a tree of values with positions out.

What is promised: every file that nats-server 2.15 parses gives the same tree here (the digest of
the tree, which `-t` prints, is the proof), and a file it refuses is refused with the same text where
that text helps. The exceptions are few: a number may stand right before `]`; a key without a value
and a number with a nonsense suffix are errors instead of being lost; a number too big for 64 bits
after its suffix is an error instead of wrapping; a file that includes itself is refused.

How it works: the parser reads Latin-1, so that one character is one byte. Positions are then byte
positions, as in nats-server, and bytes that are no UTF-8 pass through. Strings become UTF-8 text
when they leave. The format is forgiving in ways that no grammar describes well (a bare word ends at
any of eight characters, a value may be followed by a lone slash), so each rule sits in the function
that reads the thing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NoReturn, TypeAlias

import msgspec

from jetstream_py import limits
from jetstream_py.config.errors import ConfigError

# Given the name of the including file and the word after `include`: the name of the included file
# and its bytes. Raises ConfigError with the reason when it cannot be read.
Reader: TypeAlias = Callable[[str, str], tuple[str, bytes]]


class Position(msgspec.Struct, frozen=True, order=True):
    """Where a key or a value stands. Columns are those of nats-server: bytes, counted from 0 in the
    first line and from 1 in all others."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


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
_INDENT = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[^ \t\n\v\f\r:=]+")
_BARE_WORD = re.compile(r"[^\\\n\r;,\]} \t']*")
_IN_DOUBLE_QUOTES = re.compile(r'[^\\"]*')
_INCLUDED_WORD = re.compile(r"[^\n\r;} \t']*")
_STRAY_BRACE = re.compile(r"}[ \t\n\v\f\r]*\Z")  # one too many, at the end of the file
_RAW_BLOCK_END = re.compile(r"(?<=\n)\)(?=\n|\Z)")
_DIGITS = re.compile(r"[0-9]+")
_END_OF_LINE = re.compile(r"[\n\r]|\Z")
_ADDRESS_TAIL = re.compile(r"[0-9.:\-]*")
_SIZE_SUFFIX = re.compile(r"[kmgtpeKMGTPE][biBI]*")
_BCRYPT = re.compile(r"2[abxy]\$")
_DIGIT: Final = frozenset("0123456789")
_AFTER_NUMBER: Final = frozenset(("", "\n", "\r", "}", ";", ",", " ", "\t", "]"))
_DATE_TAIL: Final = "-00-00T00:00:00Z"  # 0 stands for any digit
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
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
_INT64: Final = range(-(2**63), 2**63)


def _sizes() -> dict[str, int]:
    """`1k` is a thousand, `1kb`, `1ki` and `1kib` are 1024, and so on up to `e`."""
    table = {}
    for power, letter in enumerate("kmgtpe", start=1):
        table[letter] = 1000**power
        table.update(dict.fromkeys((f"{letter}b", f"{letter}i", f"{letter}ib"), 1024**power))
    return table


_SIZES: Final = _sizes()


class _Parser:
    """One file. Reading functions start at `pos` and leave it behind what they have read."""

    def __init__(
        self,
        data: bytes,
        file: str,
        read: Reader,
        environ: Mapping[str, str],
        depth: int,
        including: tuple[str, ...],
    ) -> None:
        self.text = data.decode("latin-1")
        self.pos = 0
        self.file = file
        self.read = read
        self.environ = environ
        self.depth = depth
        self.including = including
        self.scopes: list[Block] = []
        self.newlines = [match.start() for match in re.finditer("\n", self.text)]

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

    def comment(self) -> bool:
        """Skip a comment, but not the end of its line. False when there is none."""
        if self.peek() != "#" and not self.text.startswith("//", self.pos):
            return False
        end = _END_OF_LINE.search(self.text, self.pos)
        assert end is not None
        self.pos = end.start()
        return True

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
            self.skip(_INDENT)
        _put(block, key, Value(self.value(), at))

    def end_of_statement(self) -> None:
        while True:
            self.skip(_INDENT)
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
        start = self.pos
        if quote in "\"'":
            start += 1
            end = self.text.find(quote, start)
            if end < 0:
                self.fail(unterminated, len(self.text))
            self.pos = end + 1
        else:
            self.skip(_BARE_KEY)
            end = self.pos
        return _utf8(self.text[start:end]), self.position(start)

    # -- include -----------------------------------------------------------------------------------

    def include(self, block: Block) -> None:
        self.skip(_INDENT)
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
        start = self.pos
        if quote in ("'", '"'):
            start += 1
            end = self.text.find(quote, start)
            if end < 0:
                kind = "single" if quote == "'" else "double"
                self.fail(f"Unexpected EOF in {kind} quoted include", len(self.text))
            self.pos = end + 1
        else:
            self.skip(_INCLUDED_WORD)
            end = self.pos
            if self.peek() == "'":
                self.pos += 1
        return _utf8(self.text[start:end])

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
        self.skip(_INDENT)
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
        self.skip(_INDENT)
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

    def value(self) -> Data:
        start = self.peek()
        if start in _DIGIT:
            return self.number()
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

    def single_quoted(self) -> str:
        start = self.pos + 1
        end = self.text.find("'", start)
        if end < 0:
            self.fail("Unexpected EOF.", len(self.text))
        self.pos = end + 1
        return _utf8(self.text[start:end])

    def double_quoted(self) -> str:
        self.pos += 1
        text, _ = self.escaped(_IN_DOUBLE_QUOTES)
        if self.peek() != '"':
            self.fail("Unexpected EOF.")
        self.pos += 1
        return _utf8(text)

    def raw_block(self) -> str:
        start = self.pos + 1
        end = _RAW_BLOCK_END.search(self.text, start)
        if end is None:
            self.fail("Unexpected EOF processing block.", len(self.text))
        self.pos = end.end()
        return _utf8(self.text[start : end.start()])

    def bare_word(self) -> Data:
        word, escaped = self.escaped(_BARE_WORD)
        if self.peek() == "'":  # closes a word that no quote has opened
            self.pos += 1
        elif not escaped:
            if word.lower() in _BOOLEANS:
                return _BOOLEANS[word.lower()]
            if word.startswith("$"):
                return self.variable(_utf8(word[1:]))
        return _utf8(word)

    def escaped(self, plain: re.Pattern[str]) -> tuple[str, bool]:
        """Text as long as `plain` and escapes go on, and whether there was an escape."""
        parts = [self.skip(plain)]
        while self.peek() == "\\":
            self.pos += 1
            parts.append(self.escape())
            parts.append(self.skip(plain))
        return "".join(parts), len(parts) > 1

    def escape(self) -> str:
        code = self.peek()
        self.pos += 1
        if code == "x":
            return self.hexadecimal()
        if not code or code not in _ESCAPES:
            char = self.char(self.pos - 1)
            self.fail(
                f"Invalid escape character '{char}'. Only the following escape characters are "
                'allowed: \\xXX, \\t, \\n, \\r, \\", \\\\.'
            )
        return _ESCAPES[code]

    def hexadecimal(self) -> str:
        digits = self.text[self.pos : self.pos + 2]
        self.pos += 2
        if "\n" in digits or "\r" in digits:
            self.fail("Expected two hexadecimal digits after '\\x', but hit end of line")
        if not re.fullmatch("[0-9a-fA-F]{2}", digits):
            self.fail(f"Expected two hexadecimal digits after '\\x', but got '{_utf8(digits)}'")
        return chr(int(digits, 16))

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

    # -- numbers, and what only looks like one -----------------------------------------------------

    def number(self) -> Data:
        start = self.pos
        digits = self.skip(_DIGITS)
        follows = self.peek()
        if follows == "-":
            return self.date(start)
        if follows == ".":
            return self.fraction(start)
        suffix = self.skip(_SIZE_SUFFIX)
        if self.peek() in _AFTER_NUMBER:
            return self.sized(digits, suffix)
        self.pos = start
        return self.bare_word()  # 10s, 4222:x, 1/2

    def negative_number(self) -> Data:
        start = self.pos
        self.pos += 1
        if self.peek() == ".":
            self.fail("Floats must start with a digit, not '.'.")
        if self.peek() not in _DIGIT:
            self.fail(f"Expected a digit but got '{self.char()}'.")
        self.skip(_DIGITS)
        if self.peek() == ".":
            return self.fraction(start)
        return self.sized(self.text[start : self.pos], self.skip(_SIZE_SUFFIX))

    def sized(self, digits: str, suffix: str) -> int:
        factor = _SIZES.get(suffix.lower(), 0 if suffix else 1)
        if not factor:
            self.fail(f"Unknown size suffix '{suffix}'.")
        # 64 bits have at most 19 digits; Python refuses to convert thousands of them.
        number = int(digits) * factor if len(digits) <= 20 else _INT64.stop
        if number not in _INT64:
            raise ConfigError(f"integer '{digits}{suffix}' is out of the range")
        return number

    def fraction(self, start: int) -> str | float:
        self.pos += 1
        if not self.skip(_DIGITS):
            self.fail(f"Floats must have a digit after the '.', but got '{self.char()}' instead.")
        if self.peek() == ".":  # an address: 127.0.0.1:4222
            self.skip(_ADDRESS_TAIL)
            return self.text[start : self.pos]
        number = float(self.text[start : self.pos])
        if number in (float("inf"), float("-inf")):
            raise ConfigError(f"float '{self.text[start : self.pos]}' is out of the range")
        return number

    def date(self, start: int) -> datetime:
        if self.pos - start != 4:
            self.fail("All ISO8601 dates must be in full Zulu form.")
        for expected in _DATE_TAIL:
            char = self.peek()
            if expected == "0" and char not in _DIGIT:
                self.fail(f"Expected digit in ISO8601 datetime, but found '{self.char()}' instead.")
            if expected != "0" and char != expected:
                self.fail(
                    f"Expected '{expected}' in ISO8601 datetime, but found '{self.char()}' instead."
                )
            self.pos += 1
        text = self.text[start : self.pos]
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise ConfigError(f"expected Zulu formatted DateTime, but got '{text}'") from None

    # -- the text ----------------------------------------------------------------------------------

    def peek(self) -> str:
        """The next character, or nothing at the end. Beware: nothing is `in` every string."""
        return self.text[self.pos : self.pos + 1]

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.pos)
        if match is None:
            return ""
        self.pos = match.end()
        return match.group()

    def enter(self) -> None:
        self.depth += 1
        if self.depth > limits.CONFIG_DEPTH:
            self.fail(f"More than {limits.CONFIG_DEPTH} levels of includes and blocks.")

    def line_column(self, pos: int) -> tuple[int, int]:
        line = bisect_left(self.newlines, pos)
        return line + 1, pos - self.newlines[line - 1] if line else pos

    def position(self, pos: int) -> Position:
        return Position(self.file, *self.line_column(pos))

    def char(self, pos: int = -1) -> str:
        """The character at a place, for a message."""
        pos = self.pos if pos < 0 else pos
        char = self.text[pos : pos + 4].encode("latin-1").decode(errors="replace")[:1]
        return {"": "EOF", "\n": "\\n"}.get(char, char)

    def fail(self, message: str, pos: int = -1) -> NoReturn:
        line, _ = self.line_column(self.pos if pos < 0 else pos)
        raise ConfigError(f"Parse error on line {line}: '{message}'")


def _put(block: Block, key: str, value: Value) -> None:
    """The last of equal keys counts, and it counts where it stands."""
    block.pop(key, None)
    block[key] = value


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")
