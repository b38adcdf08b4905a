"""The kinds of values that keys take: each turns a parsed value into what the options hold.

A wrong value raises `Refusal`. Texts are those of nats-server, except where those are a Go runtime
error ("interface conversion: interface {} is string, not int64"); these say what is wrong instead.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from jetstream_py import gotext
from jetstream_py.config import durations
from jetstream_py.config.draft import Draft, Problem, Refusal
from jetstream_py.config.parser import Data, Value

_INT32_MAX: Final = 2**31 - 1
_TOKENS_AT_MOST: Final = 255  # nats-server keeps the number in a byte
_SIZE_LETTERS: Final = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# What a value is called in a message, and what Go calls it.
_NAMES: Final[dict[type, tuple[str, str]]] = {
    str: ("a string", "string"),
    bool: ("a boolean", "bool"),
    int: ("an integer", "int64"),
    float: ("a float", "float64"),
    datetime: ("a time", "time.Time"),
    list: ("an array", "[]interface {}"),
    dict: ("a block", "map[string]interface {}"),
}


class Kind(msgspec.Struct, frozen=True):
    """`read(key, value, draft)` gives what the options hold; `label` is for the documentation."""

    label: str
    read: Callable[[str, Value, Draft], Any]


def go_type(data: Data) -> str:
    return _NAMES[type(data)][1]


def shown(data: Data) -> str:
    """A value in a message. nats-server shows addresses in memory for what is more than a word."""
    match data:
        case bool():
            return "true" if data else "false"
        case float():
            return f"{data:g}"
        case str() | int():
            return str(data)
    return go_type(data)


def expect(kind: type, what: str, key: str, value: Value) -> Any:
    if type(value.data) is not kind:
        name = gotext.quote(key)
        raise Refusal(f"{name} must be {what}, got {_NAMES[type(value.data)][0]}", value.at)
    return value.data


def text(key: str, value: Value, draft: Draft) -> str:
    result: str = expect(str, "a string", key, value)
    return result


def boolean(key: str, value: Value, draft: Draft) -> bool:
    result: bool = expect(bool, "a boolean", key, value)
    return result


def integer(key: str, value: Value, draft: Draft) -> int:
    result: int = expect(int, "an integer", key, value)
    return result


def size32(key: str, value: Value, draft: Draft) -> int:
    size = integer(key, value, draft)
    if size > _INT32_MAX:
        raise Refusal(f"{key} value is too big")
    return size


def token_count(key: str, value: Value, draft: Draft) -> int:
    count = integer(key, value, draft)
    if count > _TOKENS_AT_MOST:
        raise Refusal(f"{key} value is too big")
    if count <= 0:
        raise Refusal(f"{key} value can not be negative")
    return count


def storage_size(key: str, value: Value, draft: Draft) -> int:
    """Bytes, or a string such as "10G"."""
    if type(value.data) is int:
        return value.data
    if type(value.data) is not str:
        raise Refusal(f"{key} must be int64 or string", value.at)
    number, letter = value.data[:-1], value.data[-1:]
    if letter not in _SIZE_LETTERS:
        raise Refusal(f"{key} sizes defined as strings must end in K, M, G, T", value.at)
    try:
        return gotext.atoi(number) * _SIZE_LETTERS[letter]
    except ValueError:
        quoted = gotext.quote(number)
        raise Refusal(
            f"{key} strconv.ParseInt: parsing {quoted}: invalid syntax", value.at
        ) from None


def duration(key: str, value: Value, draft: Draft) -> float:
    written = text(key, value, draft)
    try:
        return durations.seconds(written)
    except ValueError as error:
        raise Refusal(f"error parsing {key}: {error}", value.at) from None


def duration_or_seconds(key: str, value: Value, draft: Draft) -> float:
    """A duration; a bare number of seconds is how old files say it."""
    if type(value.data) is str:
        return duration(key, value, draft)
    quoted = gotext.quote(key)
    reason = f"invalid use of field {quoted}: {key} should be converted to a duration"
    draft.outdated.append(Problem(value.at, reason))
    return float(integer(key, value, draft))


def listen(key: str, value: Value, draft: Draft) -> tuple[str, int]:
    """A port, or "host:port"; the host is empty when not given."""
    data = value.data
    if type(data) is int:
        return "", data
    if type(data) is not str:
        raise Refusal(f"expected port or host:port, got {go_type(data)}")
    host, colon, number = data.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not colon or "[" in host or "]" in host:
        raise Refusal(f"could not parse address string {gotext.quote(data)}")
    try:
        return host, gotext.atoi(number)
    except ValueError:
        raise Refusal(f"could not parse port {gotext.quote(number)}") from None


def tags(key: str, value: Value, draft: Draft) -> list[str]:
    """One tag or an array of them. Case and blanks around do not count, nor do doubles."""
    data = value.data
    if type(data) is str:
        data = [value]
    if type(data) is not list:
        raise Refusal(f"error parsing tags: unsupported type {go_type(data)}")
    for item in data:
        if type(item.data) is not str:
            raise Refusal(
                "error parsing tags: unsupported type *conf.token where string is expected"
            )
    clean = (text(key, item, draft).strip().lower() for item in data)
    return list(dict.fromkeys(tag for tag in clean if tag))


def metadata(key: str, value: Value, draft: Draft) -> dict[str, str]:
    data = value.data
    if type(data) is not dict:
        raise Refusal(f"error parsing metadata: unsupported type {go_type(data)}")
    return {name: text(name, item, draft) for name, item in data.items()}


def feature_flags(key: str, value: Value, draft: Draft) -> dict[str, bool]:
    data = value.data
    if type(data) is not dict:
        raise Refusal(f"error parsing feature flags: unsupported type {go_type(data)}")
    flags: dict[str, bool] = {}
    for name, item in data.items():
        if type(item.data) is not bool:
            raise Refusal(
                f"error parsing feature flag {gotext.quote(name)}: "
                f"expected bool, got {go_type(item.data)}",
                item.at,
            )
        flags[name] = item.data
    return flags


def server_name(key: str, value: Value, draft: Draft) -> str:
    return checked_server_name(text(key, value, draft))


def checked_server_name(name: str) -> str:
    """The rule for names, which the command line shares."""
    if " " in name:
        raise Refusal("server name cannot contain spaces")
    return name


def lame_duck_duration(key: str, value: Value, draft: Draft) -> float:
    period = duration(key, value, draft)
    if period < 30:
        shown = durations.text(period)
        raise Refusal(f"invalid lame_duck_duration of {shown}, minimum is 30 seconds")
    return period


def lame_duck_grace_period(key: str, value: Value, draft: Draft) -> float:
    period = duration(key, value, draft)
    if period < 0:
        raise Refusal("invalid lame_duck_grace_period, needs to be positive")
    return period


def write_timeout(key: str, value: Value, draft: Draft) -> str:
    choice = text(key, value, draft).lower()
    if choice not in ("default", "close", "retry"):
        raise Refusal("write_timeout must be 'default', 'close' or 'retry'")
    return choice


def account_name(key: str, value: Value, draft: Draft) -> str:
    if type(value.data) is not str:
        raise Refusal("system account name must be a string")
    return value.data


def array(key: str, value: Value, draft: Draft) -> list[Value]:
    result: list[Value] = expect(list, "an array", key, value)
    return result


def texts(key: str, value: Value, draft: Draft) -> list[str]:
    return [text(key, item, draft) for item in array(key, value, draft)]


def block(key: str, value: Value, draft: Draft) -> dict[str, Value]:
    result: dict[str, Value] = expect(dict, "a block", key, value)
    return result


def anything(key: str, value: Value, draft: Draft) -> Data:
    return value.data


TEXT: Final = Kind("string", text)
BOOLEAN: Final = Kind("boolean", boolean)
INTEGER: Final = Kind("integer", integer)
SIZE: Final = Kind("size", integer)
SIZE32: Final = Kind("size", size32)
TOKEN_COUNT: Final = Kind("1 to 255", token_count)
STORAGE_SIZE: Final = Kind("size", storage_size)
DURATION: Final = Kind("duration", duration)
DURATION_OR_SECONDS: Final = Kind("duration", duration_or_seconds)
LAME_DUCK_DURATION: Final = Kind('duration, "30s" at least', lame_duck_duration)
LAME_DUCK_GRACE_PERIOD: Final = Kind("duration", lame_duck_grace_period)
PORT: Final = Kind("port", integer)
LISTEN: Final = Kind("port or host:port", listen)
SERVER_NAME: Final = Kind("string without blanks", server_name)
TAGS: Final = Kind("string or array", tags)
METADATA: Final = Kind("block of strings", metadata)
FEATURE_FLAGS: Final = Kind("block of booleans", feature_flags)
WRITE_TIMEOUT: Final = Kind("default, close or retry", write_timeout)
ACCOUNT_NAME: Final = Kind("string", account_name)
TEXTS: Final = Kind("array of strings", texts)
BLOCK: Final = Kind("block", block)
ANYTHING: Final = Kind("any", anything)
