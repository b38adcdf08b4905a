"""The command line, as Go programs read theirs.

One dash or two, `-flag value` or `-flag=value`; a boolean flag stands alone or takes `=value`. The
first word that is no flag ends them. Later flags win over earlier ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from jetstream_py import gotext
from jetstream_py.config.draft import Draft, Refusal
from jetstream_py.config.errors import ConfigError, UsageError
from jetstream_py.config.flag_table import FLAGS, GROUPS, SIGNALS, Flag
from jetstream_py.config.tls import tls_from_flags

Action: TypeAlias = Literal["serve", "check", "version", "help", "help_tls", "signal"]

_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|[0-9][0-9_]*)")
_INT64: Final = range(-(2**63), 2**63)


class CommandLine(msgspec.Struct):
    """The flags that were given, in their order, and the word after them."""

    given: list[tuple[Flag, str, Any]] = []  # the flag, its name as written, its value
    word: str = ""

    def value(self, name: str, default: Any) -> Any:
        """The last value of the flag that has this name."""
        values = [value for flag, _, value in self.given if name in flag.names]
        return values[-1] if values else default

    def apply(self, draft: Draft) -> None:
        try:
            for flag, name, value in self.given:
                flag.effect(draft, name, value)
            tls_from_flags(draft)
        except Refusal as refusal:
            raise ConfigError(str(refusal)) from None


# -- reading ---------------------------------------------------------------------------------------


def parse(argv: Sequence[str]) -> CommandLine:
    """`argv` is without the program's name."""
    line = CommandLine()
    words = list(argv)
    while words:
        word = words.pop(0)
        if len(word) < 2 or not word.startswith("-"):
            line.word = word
            break
        if word == "--":
            line.word = words[0] if words else ""
            break
        flag, value = _read_flag(word, words)
        line.given.append((flag, word.partition("=")[0], value))
    return line


def _read_flag(word: str, rest: list[str]) -> tuple[Flag, Any]:
    name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
    if not name or name.startswith("-"):
        raise UsageError(f"bad flag syntax: {word}")
    flag = FLAGS.get(name)
    if flag is None:
        raise UsageError(f"flag provided but not defined: -{name}")
    if flag.type == "bool":
        return flag, _boolean(name, value) if equals else True
    if not equals:
        if not rest:
            raise UsageError(f"flag needs an argument: -{name}")
        value = rest.pop(0)
    return flag, _integer(name, value) if flag.type == "int" else value


def _boolean(name: str, value: str) -> bool:
    try:
        return gotext.parse_bool(value)
    except ValueError:
        quoted = gotext.quote(value)
        raise UsageError(f"invalid boolean value {quoted} for -{name}: parse error") from None


def _integer(name: str, value: str) -> int:
    """Any base that Go's literals know: 0x1f, 0o17, 017, 0b1, 1_000."""
    if not _INTEGER.fullmatch(value):
        raise UsageError(f"invalid value {gotext.quote(value)} for flag -{name}: parse error")
    octal = re.fullmatch(r"([+-]?)0([0-7]+)", value)
    number = int(f"{octal[1]}0o{octal[2]}" if octal else value, 0) if len(value) < 80 else 2**64
    if number not in _INT64:
        raise UsageError(
            f"invalid value {gotext.quote(value)} for flag -{name}: value out of range"
        )
    return number


def action(line: CommandLine) -> Action:
    """What the program is asked to do."""
    if line.word:
        match line.word.lower():
            case "version":
                return "version"
            case "help":
                return "help"
        raise ConfigError(f"unrecognized command: {gotext.quote(line.word)}")
    flags: tuple[tuple[str, Action], ...] = (
        ("version", "version"),
        ("help", "help"),
        ("help_tls", "help_tls"),
        ("signal", "signal"),
        ("t", "check"),
    )
    for name, wanted in flags:
        if line.value(name, default=False):
            return wanted
    return "serve"


def signal(line: CommandLine) -> tuple[str, str]:
    """The command of `--signal command[=pid]`, and whom it is for: a pid, a file or nothing."""
    command, *targets = line.value("signal", default="").split("=")
    if len(targets) > 1:
        raise ConfigError(f"invalid signal parameters: [{' '.join(targets[1:])}]")
    if command not in SIGNALS:
        raise ConfigError(f"unknown signal {gotext.quote(command)}")
    return command, targets[0] if targets else ""


# -- usage -----------------------------------------------------------------------------------------

_HELP_COLUMN: Final = 37


def usage(prog: str) -> str:
    """What `--help` prints, made from the table."""
    lines = ["", f"Usage: {prog} [options]", ""]
    for title, group in GROUPS:
        lines.append(f"{title} Options:")
        for flag in group:
            lines.extend(_usage_lines(flag, prog))
        lines.append("")
    return "\n".join(lines) + "\n"


def _usage_lines(flag: Flag, prog: str) -> list[str]:
    *above, last = ["    " + line for line in flag.spelling.split("\n")]
    first, *below = flag.help.replace("{prog}", prog).split("\n")
    return [
        *above,
        last.ljust(_HELP_COLUMN) + first,
        *(" " * _HELP_COLUMN + line for line in below),
    ]
