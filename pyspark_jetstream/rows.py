"""Arrow batches as messages: what a sink publishes for each row.

A stream takes `subject` (or the option of that name), `data`, and if they are there `headers` and
`msg_id`. A bucket takes `key`, `value` and if it is there `operation` (PUT, DEL, PURGE); a value that is
null deletes its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from pyspark_jetstream.errors import JetStreamError, OptionError
from pyspark_jetstream.options import TOKENS, Options
from pyspark_jetstream.table import HEADERS

if TYPE_CHECKING:
    import pyarrow as pa

KEY: Final = re.compile(r"[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*")
NAME: Final = re.compile(r"[!-9;-~]+")  # printable ASCII without a colon
OPERATIONS: Final = {
    "PUT": b"",
    "DEL": b"KV-Operation: DEL\r\n",
    "PURGE": b"KV-Operation: PURGE\r\nNats-Rollup: sub\r\n",
}
TEXT: Final = (StringType,)
BYTES: Final = (StringType, BinaryType)

MESSAGE_COLUMNS: Final[dict[str, tuple[type[DataType], ...]]] = {
    "subject": TEXT,
    "data": BYTES,
    "headers": (type(HEADERS),),
    "msg_id": TEXT,
}
ENTRY_COLUMNS: Final[dict[str, tuple[type[DataType], ...]]] = {
    "key": TEXT,
    "value": BYTES,
    "operation": TEXT,
    "msg_id": TEXT,
}


class Messages(NamedTuple):
    """In columns; header blocks are whole or b""."""

    subjects: list[bytes]
    blocks: list[bytes]
    datas: list[bytes]


def check(options: Options, schema: StructType) -> None:
    """Can such rows be written? Raises `OptionError`."""
    known = ENTRY_COLUMNS if options.bucket else MESSAGE_COLUMNS
    given = {field.name: field.dataType for field in schema.fields}
    for name, kind in given.items():
        if name not in known:
            raise OptionError(f"column {name} cannot be written; there are {', '.join(known)}")
        if not isinstance(kind, known[name]) or (name == "headers" and not _is_headers(kind)):
            right = " or ".join(k.typeName() for k in known[name])
            right = HEADERS.simpleString() if name == "headers" else right
            raise OptionError(f"column {name} is {kind.simpleString()}; it has to be {right}")
    if options.bucket:
        needed = ["key", "value"]
    else:
        needed = ["data"] if options.subjects else ["subject", "data"]
        if options.subjects and (len(options.subjects) > 1 or not _is_subject(options.subjects[0])):
            raise OptionError("option subject of a sink is one subject without wildcards")
        if options.subjects and "subject" in given:
            raise OptionError("there is a column subject, so no option subject can be given")
    for name in needed:
        if name not in given:
            hint = " (or option subject)" if name == "subject" else ""
            raise OptionError(f"there is no column {name}{hint}; it is needed to write")


def _is_headers(kind: DataType) -> bool:
    return kind.simpleString() == HEADERS.simpleString()


def _is_subject(text: str) -> bool:
    return bool(TOKENS.fullmatch(text)) and not {"*", ">"} & set(text.split("."))


def messages(options: Options, batch: pa.RecordBatch, ids: list[str]) -> Messages:
    """Of rows, with ids for those that bring none. Raises `JetStreamError` for a row that is none."""
    columns: dict[str, list[Any]] = {
        name: batch.column(i).to_pylist() for i, name in enumerate(batch.schema.names)
    }
    if "msg_id" in columns:
        ids = [given or made for given, made in zip(_given(columns), ids, strict=True)]
    return _entries(options, columns, ids) if options.bucket else _plain(options, columns, ids)


def _given(columns: dict[str, list[Any]]) -> Iterator[str | None]:
    for given in columns["msg_id"]:
        if given is not None and not _is_value(given.encode()):
            raise JetStreamError(f"msg_id {given!r}: a header has no line breaks")
        yield given


def _plain(options: Options, columns: dict[str, list[Any]], ids: list[str]) -> Messages:
    if options.subjects:
        subjects = [options.subjects[0].encode()] * len(ids)
    else:
        subjects = _subjects(columns["subject"])
    datas = _payloads(columns["data"])
    blocks = [b"NATS/1.0\r\nNats-Msg-Id: %b\r\n\r\n" % one.encode() for one in ids]
    for i, headers in enumerate(columns.get("headers", ())):
        if headers:
            blocks[i] = blocks[i][:-2] + _lines(headers) + b"\r\n"
    return Messages(subjects, blocks, datas)


def _subjects(values: list[str | None]) -> list[bytes]:
    known: dict[str, bytes] = {}
    for value in set(values):
        if value is None or not _is_subject(value):
            raise JetStreamError(f"{value!r} is no subject that can be written to")
        known[value] = value.encode()
    return [known[value] for value in values if value is not None]


def _payloads(values: list[Any]) -> list[bytes]:
    """Nothing is an empty message."""
    if values and isinstance(next((v for v in values if v is not None), None), str):
        return [value.encode() if value is not None else b"" for value in values]
    return [value if value is not None else b"" for value in values]


def _lines(headers: list[dict[str, Any]]) -> bytes:
    lines = []
    for header in headers:
        name, value = header["key"], header["value"] or b""
        if not name or not NAME.fullmatch(name) or not _is_value(value):
            raise JetStreamError(f"{name!r}: {value!r} is no header")
        if name == "Nats-Msg-Id":
            raise JetStreamError("message ids are written in a column msg_id, not as headers")
        lines.append(b"%b: %b\r\n" % (name.encode(), value))
    return b"".join(lines)


def _is_value(value: bytes) -> bool:
    return b"\r" not in value and b"\n" not in value


def _entries(options: Options, columns: dict[str, list[Any]], ids: list[str]) -> Messages:
    values = columns["value"]
    operations = columns.get("operation") or [None] * len(ids)
    subjects, blocks = [], []
    for key, value, operation, one in zip(columns["key"], values, operations, ids, strict=True):
        if not key or not KEY.fullmatch(key):
            raise JetStreamError(f"{key!r} is no key")
        name = (operation or ("DEL" if value is None else "PUT")).upper()
        if name not in OPERATIONS:
            raise JetStreamError(f"operation {operation!r} is none of {', '.join(OPERATIONS)}")
        subjects.append(f"$KV.{options.bucket}.{key}".encode())
        blocks.append(b"NATS/1.0\r\n%bNats-Msg-Id: %b\r\n\r\n" % (OPERATIONS[name], one.encode()))
    return Messages(subjects, blocks, _payloads(values))
