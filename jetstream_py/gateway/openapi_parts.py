"""What the OpenAPI document is put together from: types, arguments, answers, and all that travels as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from jetstream_py import limits

Json = dict[str, Any]

INTEGER: Final[Json] = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
TEXT: Final[Json] = {"type": "string"}
FLAG: Final[Json] = {"type": "boolean"}
TIME: Final[Json] = {"type": "string", "format": "date-time"}
BUCKET: Final[Json] = {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,256}$"}
KEY: Final[Json] = {
    "type": "string",
    "pattern": r"^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$",
    "maxLength": limits.KEY_LENGTH,
}
NAME: Final[Json] = {"type": "string", "minLength": 1, "maxLength": limits.KEY_LENGTH // 2}
STREAM: Final[Json] = {"type": "string", "pattern": r"^[^\s.*>/\\\x00-\x1f\x7f]{1,255}$"}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def record(properties: Json, required: Sequence[str] = (), **more: Any) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required or properties),
        **more,
    }


def array_of(items: Json) -> Json:
    return {"type": "array", "items": items}


# -- parts of an operation -------------------------------------------------------------------------


def in_path(name: str, schema: Json) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def in_query(name: str, schema: Json, text: str, required: bool = False) -> Json:
    return _argument("query", name, schema, text, required)


def in_header(name: str, schema: Json, text: str) -> Json:
    return _argument("header", name, schema, text, False)


def _argument(where: str, name: str, schema: Json, text: str, required: bool) -> Json:
    return {"name": name, "in": where, "schema": schema, "description": text, "required": required}


def json_of(text: str, schema: Json) -> Json:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def bytes_of(text: str, kind: str = "application/octet-stream", **headers: str) -> Json:
    told = {name: {"description": line, "schema": TEXT} for name, line in headers.items()}
    return {"description": text, "content": {kind: {"schema": {}}}, "headers": told}


def nothing(text: str) -> Json:
    return {"description": text}


def body_of(kind: str, schema: Json, required: bool = True) -> Json:
    return {"required": required, "content": {kind: {"schema": schema}}}


def operation(
    name: str,
    text: str,
    good: dict[str, Json],
    arguments: Sequence[Json] = (),
    body: Json | None = None,
    bad: Sequence[int] = (),
) -> Json:
    statuses = (*bad, 400, 401, 403, 404, 405, 503, 504)
    errors = {str(status): {"$ref": "#/components/responses/Error"} for status in statuses}
    made: Json = {"operationId": name, "summary": text, "responses": {**good, **errors}}
    if arguments:
        made["parameters"] = list(arguments)
    if body is not None:
        made["requestBody"] = body
    return made


# -- what travels ----------------------------------------------------------------------------------

_BASE64: Final[Json] = {"type": "string", "contentEncoding": "base64"}
_STATUS: Final[Json] = {"bucket": TEXT, "bytes": INTEGER, "storage": TEXT}
SCHEMAS: Final[Json] = {
    "Error": record({"code": INTEGER, "err_code": INTEGER, "description": TEXT}),
    "Bucket": record({**_STATUS, "values": INTEGER, "last_revision": INTEGER}),
    "Store": record({**_STATUS, "sealed": FLAG}),
    "Objects": record({**_STATUS, "objects": array_of(ref("Object")), "more": FLAG}),
    "Entry": record(
        {
            "bucket": TEXT,
            "key": TEXT,
            "revision": INTEGER,
            "created": TIME,
            "operation": {"enum": ["PUT", "DEL", "PURGE"]},
            "value": _BASE64,
        }
    ),
    "History": record({"bucket": TEXT, "key": TEXT, "entries": array_of(ref("Entry"))}),
    "Revision": record({"bucket": TEXT, "key": TEXT, "revision": INTEGER}),
    "Object": record(
        {
            "bucket": TEXT,
            "name": TEXT,
            "nuid": TEXT,
            "size": INTEGER,
            "chunks": INTEGER,
            "digest": TEXT,
            "revision": INTEGER,
            "modified": TIME,
        }
    ),
    "Stream": record({"config": {"type": "object"}, "state": {"type": "object"}}),
    "Message": record(
        {
            "seq": INTEGER,
            "time": TIME,
            "subject": TEXT,
            "headers": {"type": "object", "additionalProperties": TEXT},
            "data": _BASE64,
        }
    ),
    "Messages": record(
        {"stream": TEXT, "messages": array_of(ref("Message")), "next": INTEGER},
        ("stream", "messages"),
    ),
    "PubAck": record(
        {"stream": TEXT, "seq": INTEGER, "duplicate": FLAG, "domain": TEXT}, ("stream", "seq")
    ),
}
