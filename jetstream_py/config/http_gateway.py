"""The block `http_gateway`, which only this server has."""

from __future__ import annotations

from typing import Final

from jetstream_py.config import kinds
from jetstream_py.config.draft import Draft, Refusal
from jetstream_py.config.options import HttpGateway
from jetstream_py.config.parser import Data, Value
from jetstream_py.config.tables import Key, Table, key, read_fields, table
from jetstream_py.config.websocket import origin_fault, read_origins


def set_http_gateway(draft: Draft, value: Value, data: Data) -> None:
    """`http_gateway: true` is short for a block that says so."""
    if type(data) is bool:
        draft.options.http_gateway = HttpGateway(enabled=data)
        return
    if type(data) is not dict:
        raise Refusal(f"Expected http_gateway to be a boolean or a map, got {kinds.go_type(data)}")
    fields = read_fields(HTTP_GATEWAY_KEYS, data, draft, "http_gateway.")
    draft.options.http_gateway = HttpGateway(
        enabled=fields.get("enabled", True),
        max_upload=fields.get("max_upload", HttpGateway().max_upload),
        allowed_origins=fields.get("allowed_origins", ()),
    )


def _origins(key: str, value: Value, draft: Draft) -> tuple[str, ...]:
    origins = read_origins(key, value, draft)
    for origin in origins:
        if origin != "*" and (fault := origin_fault(origin)):
            raise Refusal(f"unable to parse allowed origin{fault}")
    return tuple(origin.rstrip("/") for origin in origins)


def _size(key: str, value: Value, draft: Draft) -> int:
    size = kinds.integer(key, value, draft)
    if size <= 0:
        raise Refusal(f"{key} is a size, not {size}")
    return size


def _of(names: str, kind: kinds.Kind, note: str) -> Key:
    return key(names, kind, "http_gateway", note)


HTTP_GATEWAY_KEYS: Final[Table] = table(
    _of("enabled", kinds.BOOLEAN, "true unless it says otherwise"),
    _of("max_upload", kinds.Kind("size", _size), "of an object; 1 GiB by default"),
    _of(
        "allowed_origins allowed_origin",
        kinds.Kind("string or array", _origins),
        "web pages of these hosts may use it; `*`: all; none by default",
    ),
)
