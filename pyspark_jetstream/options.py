"""Options as people write them, checked and made into plain data.

Spark hands them over with names in lower case and values as text, and adds some of its own. Whatever is not
known is refused with the name that may have been meant: an option that is silently ignored reads the
wrong messages.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyspark_jetstream.errors import OptionError
from pyspark_jetstream.limits import MAX_PARTITIONS

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
NAME: Final = re.compile(r"[^\s.*>/\\]{1,255}")
BUCKET: Final = re.compile(r"[a-zA-Z0-9_-]{1,255}")
TOKENS: Final = re.compile(r"[^\s.]+(\.[^\s.]+)*")
SPARKS: Final = frozenset({"checkpointlocation", "queryname"})  # come along with a streaming query


@dataclass(frozen=True)
class Options:
    """All that a reader or writer was told."""

    servers: tuple[str, ...] = ("nats://127.0.0.1:4222",)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    credentials: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    stream: str = ""
    bucket: str = ""
    subjects: tuple[str, ...] = ()
    starting_offsets: str | int = ""  # "": earliest for a table, latest for a query that runs on
    starting_ns: int | None = None
    ending_offsets: str | int = LATEST
    ending_ns: int | None = None
    min_partitions: int = 0
    max_offsets: int = 0
    fail_on_data_loss: bool = True
    include_headers: bool = False
    fetch: str = "auto"
    pushdown: bool = False
    id_prefix: str = ""

    @property
    def stream_name(self) -> str:
        """The stream, or the one behind the bucket."""
        return f"KV_{self.bucket}" if self.bucket else self.stream


def _text(name: str, value: str) -> str:
    if not value.strip():
        raise OptionError(f"option {name} is empty")
    return value.strip()


def _secret(name: str, value: str) -> str:
    return value


def _list(name: str, value: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in value.split(",") if item.strip())
    if not items:
        raise OptionError(f"option {name} is empty")
    return items


def _file(name: str, value: str) -> str:
    if not Path(value).is_file():
        raise OptionError(f"option {name}: there is no file {value!r} on this machine")
    return value


def _name(name: str, value: str) -> str:
    if not NAME.fullmatch(value):
        raise OptionError(f"option {name}: {value!r} is no name of a stream")
    return value


def _bucket(name: str, value: str) -> str:
    if not BUCKET.fullmatch(value):
        raise OptionError(f"option {name}: {value!r} is no name of a bucket")
    return value


def _subjects(name: str, value: str) -> tuple[str, ...]:
    subjects = _list(name, value)
    for subject in subjects:
        tokens = subject.split(".")
        if not TOKENS.fullmatch(subject) or ">" in tokens[:-1]:
            raise OptionError(f"option {name}: {subject!r} is no subject")
    return subjects


def _offset(name: str, value: str) -> str | int:
    text = value.strip().lower()
    if text in (EARLIEST, LATEST):
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise OptionError(f"option {name}: {value!r} is neither earliest, latest nor a sequence")


def _ending(name: str, value: str) -> str | int:
    offset = _offset(name, value)
    if offset == EARLIEST:
        raise OptionError(f"option {name}: nothing ends at earliest; use latest or a sequence")
    return offset


def _moment(name: str, value: str) -> int:
    """Nanoseconds since 1970, from milliseconds (as for Kafka) or ISO 8601; UTC unless it says more."""
    text = value.strip()
    try:
        if text.isascii() and text.isdigit():
            return int(text) * 1_000_000
        moment = datetime.fromisoformat(text)
    except ValueError:
        form = "milliseconds since 1970 or a time like 2026-01-31T12:00:00Z"
        raise OptionError(f"option {name}: {value!r} is no time; use {form}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return nanoseconds(moment)


def nanoseconds(moment: datetime) -> int:
    """Since 1970, exactly."""
    passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1_000


def _count(name: str, value: str) -> int:
    text = value.strip()
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise OptionError(f"option {name}: {value!r} is no number above 0")
    return int(text)


def _partitions(name: str, value: str) -> int:
    count = _count(name, value)
    if count > MAX_PARTITIONS:
        raise OptionError(f"option {name}: at most {MAX_PARTITIONS}")
    return count


def _flag(name: str, value: str) -> bool:
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise OptionError(f"option {name}: {value!r} is neither true nor false")
    return text == "true"


def _fetch(name: str, value: str) -> str:
    text = value.strip().lower()
    if text not in ("auto", "direct", "consumer"):
        raise OptionError(f"option {name}: {value!r} is neither auto, direct nor consumer")
    return text


Reader = Callable[[str, str], Any]

# name as documented: (field, how its text is read)
TABLE: Final[dict[str, tuple[str, Reader]]] = {
    "servers": ("servers", _list),
    "user": ("user", _text),
    "password": ("password", _secret),
    "token": ("token", _secret),
    "credentials": ("credentials", _file),
    "tls.ca": ("tls_ca", _file),
    "tls.cert": ("tls_cert", _file),
    "tls.key": ("tls_key", _file),
    "stream": ("stream", _name),
    "bucket": ("bucket", _bucket),
    "subject": ("subjects", _subjects),
    "startingOffsets": ("starting_offsets", _offset),
    "startingTimestamp": ("starting_ns", _moment),
    "endingOffsets": ("ending_offsets", _ending),
    "endingTimestamp": ("ending_ns", _moment),
    "minPartitions": ("min_partitions", _partitions),
    "maxOffsetsPerTrigger": ("max_offsets", _count),
    "failOnDataLoss": ("fail_on_data_loss", _flag),
    "includeHeaders": ("include_headers", _flag),
    "fetch": ("fetch", _fetch),
    "pushdown": ("pushdown", _flag),
    "msgIdPrefix": ("id_prefix", _text),
}
BY_LOWER: Final = {name.lower(): name for name in TABLE}
# What people who come from Kafka, or from a client, would write.
ALIASES: Final = {
    "kafka.bootstrap.servers": "servers",
    "url": "servers",
    "subscribe": "subject",
    "subscribepattern": "subject",
    "subjects": "subject",
    "topic": "stream",
    "username": "user",
    "creds": "credentials",
    "path": "stream",
    "startingoffsetsbytimestamp": "startingTimestamp",
}

# Pairs that contradict each other.
EXCLUSIVE: Final = (
    ("stream", "bucket"),
    ("startingOffsets", "startingTimestamp"),
    ("endingOffsets", "endingTimestamp"),
    ("token", "user"),
    ("credentials", "user"),
    ("credentials", "token"),
)
# One of them needs the other.
NEEDS: Final = (("password", "user"), ("tls.cert", "tls.key"), ("tls.key", "tls.cert"))


def parse(given: Mapping[str, str]) -> Options:
    """Raises `OptionError`."""
    values: dict[str, Any] = {}
    names: set[str] = set()
    for key, value in given.items():
        lower = key.lower()
        if lower in SPARKS:
            continue
        if lower not in BY_LOWER:
            raise OptionError(_unknown(key))
        name = BY_LOWER[lower]
        target, read = TABLE[name]
        names.add(name)
        values[target] = read(name, str(value))
    for one, other in EXCLUSIVE:
        if one in names and other in names:
            raise OptionError(f"options {one} and {other} exclude each other")
    for one, other in NEEDS:
        if one in names and other not in names:
            raise OptionError(f"option {one} needs option {other}")
    return Options(**values)


def _unknown(key: str) -> str:
    lower = key.lower()
    if lower in ALIASES:
        return f"there is no option {key}; it is called {ALIASES[lower]} here"
    if close := difflib.get_close_matches(lower, BY_LOWER, 1):
        return f"there is no option {key}; did you mean {BY_LOWER[close[0]]}?"
    return f"there is no option {key}; there are {', '.join(TABLE)}"
