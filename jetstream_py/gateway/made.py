"""Buckets and stores from JSON: the options that their Python classes have, by the same names."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import msgspec

from jetstream_py.gateway.errors import BAD_REQUEST, HttpError
from jetstream_py.kv import Bucket
from jetstream_py.objstore import Store

T = TypeVar("T", Bucket, Store)


def made_of(kind: type[T], name: str, options: dict[str, Any]) -> T:
    known = {each.name for each in fields(kind)} - {"bucket"}
    for option in options:
        if option not in known:
            raise HttpError(BAD_REQUEST, f"unknown option {option[:100]!r}")
    try:
        made = msgspec.convert({**options, "bucket": name}, kind)
        msgspec.json.encode(made.stream())
    except (msgspec.ValidationError, OverflowError) as error:  # no such type; no such number
        raise HttpError(BAD_REQUEST, str(error)) from None
    return made
