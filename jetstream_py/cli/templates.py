"""`{{Count}}` and its like in bodies and headers: the functions of the nats command."""

from __future__ import annotations

import os
import random
import re
import string
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from jetstream_py.cli.failure import Failure
from jetstream_py.nuid import Nuid

LONGEST: Final = 64 * 1024 * 1024  # a random text no server would take
_CALL = re.compile(r"\{\{\s*\.?(\w+)((?:\s+\d+)*)\s*\}\}")
_LETTERS: Final = string.ascii_letters + string.digits
_ids = Nuid(os.urandom)


def expand(text: str, count: int, more: Mapping[str, str] | None = None) -> str:
    """Replace every call. `more` has values of the occasion, such as the request. Raises `Failure`."""
    if "{{" not in text:
        return text

    def call(found: re.Match[str]) -> str:
        name, arguments = found[1], [int(word) for word in found[2].split()]
        if more and name in more and not arguments:
            return more[name]
        return _value(name, arguments, count, found[0])

    return _CALL.sub(call, text)


def _value(name: str, arguments: list[int], count: int, call: str) -> str:
    now = datetime.now(UTC)
    if name == "Random" and len(arguments) == 2:
        least, most = sorted(arguments)
        if most > LONGEST:
            raise Failure(f"{call} is longer than a message can be")
        return "".join(random.choices(_LETTERS, k=random.randint(least, most)))
    plain = {
        "Count": str(count),
        "TimeStamp": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "Unix": str(int(now.timestamp())),
        "UnixNano": str(time.time_ns()),
        "Time": f"{now.astimezone():%I:%M%p}".lstrip("0"),
        "ID": _ids.next(),
    }
    if name not in plain or arguments:
        known = ", ".join([*plain, "Random MIN MAX"])
        raise Failure(
            f"{call} is no template", f"there are {known}; --no-templates sends it as it is"
        )
    return plain[name]
