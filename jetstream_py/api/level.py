"""A client may ask for a server that knows at least so much of the API."""

from __future__ import annotations

from jetstream_py import headers as hdr
from jetstream_py.api.errors import error
from jetstream_py.version import API_LEVEL


def enough(headers: bytes) -> bool:
    """Is our level what the headers ask for? What is no number is never enough."""
    wanted = hdr.get(headers, hdr.REQUIRED_API_LEVEL) if headers else None
    if not wanted:
        return True
    digits = wanted.removeprefix(b"-")
    return digits.isdigit() and len(digits) < 10 and int(wanted) <= API_LEVEL


def check(headers: bytes) -> None:
    if not enough(headers):
        raise error(10185)
