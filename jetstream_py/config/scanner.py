"""The words of a configuration file: text, strings, numbers, dates, and where they stand.

A scanner reads Latin-1, so that one character is one byte. Positions are then byte positions, as in
nats-server, and bytes that are no UTF-8 pass through. Strings become UTF-8 text when they leave.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import datetime
from typing import Final, NoReturn

import msgspec

from jetstream_py.config.errors import ConfigError

INDENT = re.compile(r"[ \t]*")
DIGIT: Final = frozenset("0123456789")
_BARE_WORD = re.compile(r"[^\\\n\r;,\]} \t']*")
_IN_DOUBLE_QUOTES = re.compile(r'[^\\"]*')
_RAW_BLOCK_END = re.compile(r"(?<=\n)\)(?=\n|\Z)")
_DIGITS = re.compile(r"[0-9]+")
_END_OF_LINE = re.compile(r"[\n\r]|\Z")
_ADDRESS_TAIL = re.compile(r"[0-9.:\-]*")
_SIZE_SUFFIX = re.compile(r"[kmgtpeKMGTPE][biBI]*")
_AFTER_NUMBER: Final = frozenset(("", "\n", "\r", "}", ";", ",", " ", "\t", "]"))
_DATE_TAIL: Final = "-00-00T00:00:00Z"  # 0 stands for any digit
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
_INT64: Final = range(-(2**63), 2**63)


def _sizes() -> dict[str, int]:
    """`1k` is a thousand, `1kb`, `1ki` and `1kib` are 1024, and so on up to `e`."""
    table = {}
    for power, letter in enumerate("kmgtpe", start=1):
        table[letter] = 1000**power
        table.update(dict.fromkeys((f"{letter}b", f"{letter}i", f"{letter}ib"), 1024**power))
    return table


_SIZES: Final = _sizes()


class Position(msgspec.Struct, frozen=True, order=True):
    """Where a key or a value stands. Columns are those of nats-server: bytes, counted from 0 in the
    first line and from 1 in all others."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Scanner:
    """One file. Reading functions start at `pos` and leave it behind what they have read."""

    def __init__(self, data: bytes, file: str) -> None:
        self.text = data.decode("latin-1")
        self.pos = 0
        self.file = file
        self.newlines = [match.start() for match in re.finditer("\n", self.text)]

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

    def comment(self) -> bool:
        """Skip a comment, but not the end of its line. False when there is none."""
        if self.peek() != "#" and not self.text.startswith("//", self.pos):
            return False
        end = _END_OF_LINE.search(self.text, self.pos)
        assert end is not None
        self.pos = end.start()
        return True

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

    # -- strings -----------------------------------------------------------------------------------

    def quoted(self, quote: str, unterminated: str) -> tuple[str, int]:
        """What stands between two quotes, without escapes, and where it begins."""
        start = self.pos + 1
        end = self.text.find(quote, start)
        if end < 0:
            self.fail(unterminated, len(self.text))
        self.pos = end + 1
        return utf8(self.text[start:end]), start

    def single_quoted(self) -> str:
        return self.quoted("'", "Unexpected EOF.")[0]

    def double_quoted(self) -> str:
        self.pos += 1
        text, _ = self.escaped(_IN_DOUBLE_QUOTES)
        if self.peek() != '"':
            self.fail("Unexpected EOF.")
        self.pos += 1
        return utf8(text)

    def raw_block(self) -> str:
        start = self.pos + 1
        end = _RAW_BLOCK_END.search(self.text, start)
        if end is None:
            self.fail("Unexpected EOF processing block.", len(self.text))
        self.pos = end.end()
        return utf8(self.text[start : end.start()])

    def word(self) -> tuple[str, bool]:
        """A bare word, and whether it may mean something else: a boolean, a variable."""
        word, escaped = self.escaped(_BARE_WORD)
        if self.peek() == "'":  # closes a word that no quote has opened
            self.pos += 1
            return utf8(word), False
        return utf8(word), not escaped

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
            self.fail(f"Expected two hexadecimal digits after '\\x', but got '{utf8(digits)}'")
        return chr(int(digits, 16))

    # -- numbers, and what only looks like one -----------------------------------------------------

    def number(self) -> int | float | str | datetime | None:
        """Nothing, and nothing read, when it is a word after all: 10s, 4222:x, 1/2."""
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
        return None

    def negative_number(self) -> int | float | str:
        start = self.pos
        self.pos += 1
        if self.peek() == ".":
            self.fail("Floats must start with a digit, not '.'.")
        if self.peek() not in DIGIT:
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
            if expected == "0" and char not in DIGIT:
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


def utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")
