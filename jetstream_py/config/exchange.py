"""What accounts offer to each other: the arrays `exports` and `imports`."""

from __future__ import annotations

from typing import Final

from jetstream_py import gotext
from jetstream_py.config import durations, kinds
from jetstream_py.config.account_options import Export, Import, Latency
from jetstream_py.config.draft import Draft, Refusal
from jetstream_py.config.parser import Value
from jetstream_py.config.tables import Fields, Table, key, read_fields, table

_ACCOUNTS: Final = "accounts"


def _items(what: str, value: Value, draft: Draft) -> list[Value]:
    if type(value.data) is not list:
        raise Refusal(f"{what}s should be an array, got {kinds.go_type(value.data)}")
    items = []
    for item in value.data:
        with draft.attempt(item.at):
            if type(item.data) is not dict:
                got = kinds.go_type(item.data)
                raise Refusal(f"{what} Items should be a map with type entry, got {got}")
            items.append(item)
    return items


# -- exports ---------------------------------------------------------------------------------------


def exports(key: str, value: Value, draft: Draft) -> tuple[Export, ...]:
    found = []
    for item in _items("Export", value, draft):
        with draft.attempt(item.at):
            assert type(item.data) is dict
            export = _export(read_fields(EXPORT_KEYS, item.data, draft))
            if export is not None:
                found.append(export)
    return tuple(found)


def _export(fields: Fields) -> Export | None:
    """None for an entry that names nothing, which nats-server lets pass."""
    _check_one_kind(fields, named=True)
    service = "service" in fields.at
    for name, at in fields.again.items():
        if name == "response_type":
            raise Refusal("Duplicate response type definition", at)
        if name == "response_threshold":
            raise Refusal("Duplicate response threshold detected", at)
    for name, directive in _SERVICE_ONLY:
        if name in fields.at and "stream" in fields.at:
            raise Refusal(f"Detected {directive} directive on non-service", fields.at[name])
    subject = fields.get("service" if service else "stream")
    if subject is None:
        return None
    accounts = fields.get("accounts")
    return Export(
        subject,
        service,
        accounts=frozenset(accounts) if accounts else None,
        response_type=fields.get("response_type", "singleton"),
        response_threshold=fields.get("response_threshold", 0.0),
        latency=fields.get("latency"),
        account_token_position=fields.get("account_token_position", 0),
        allow_trace=fields.get("allow_trace", False),
    )


_SERVICE_ONLY: Final = (
    ("response_type", "response"),
    ("response_threshold", "response"),
    ("latency", "latency"),
    ("allow_trace", "allow_trace"),
)


def _check_one_kind(fields: Fields, named: bool) -> None:
    """An entry is a stream or a service."""
    if not {"stream", "service"} <= fields.at.keys():
        return
    late, early = sorted(("stream", "service"), key=lambda name: fields.at[name], reverse=True)
    shown = f" {gotext.quote(fields.get(late) or '')}" if named else ""
    raise Refusal(f"Detected {late}{shown} but already saw a {early}", fields.at[late])


def _name(key: str, value: Value, draft: Draft) -> str:
    if type(value.data) is not str:
        raise Refusal(f"Expected {key} name to be string, got {kinds.go_type(value.data)}")
    return value.data


_RESPONSE_TYPES: Final = {
    "single": "singleton",
    "singleton": "singleton",
    "stream": "stream",
    "chunk": "chunked",
    "chunked": "chunked",
}


def _response_type(key: str, value: Value, draft: Draft) -> str:
    if type(value.data) is not str:
        raise Refusal(f"Expected response type to be string, got {kinds.go_type(value.data)}")
    choice = _RESPONSE_TYPES.get(value.data.lower())
    if choice is None:
        raise Refusal(f"Unknown response type: {gotext.quote(value.data.lower())}")
    return choice


def _threshold(key: str, value: Value, draft: Draft) -> float:
    expected = "Expected response threshold to be a parseable time duration, got"
    if type(value.data) is not str:
        raise Refusal(f"{expected} {kinds.go_type(value.data)}")
    try:
        return durations.seconds(value.data)
    except ValueError:
        raise Refusal(f"{expected} {gotext.quote(value.data)}") from None


def _latency(key: str, value: Value, draft: Draft) -> Latency:
    """A subject, or a block with one. Other keys of the block do not matter to nats-server."""
    if type(value.data) is str:
        return Latency(value.data)
    if type(value.data) is not dict:
        got = kinds.go_type(value.data)
        raise Refusal(f"Expected latency entry to be a map/struct or string, got {got}")
    found = {name.lower(): entry for name, entry in value.data.items()}
    sampling = 100
    if (entry := found.get("sampling")) is not None:
        with draft.attempt(entry.at):
            sampling = _sampling(entry)
    subject = found.get("subject")
    if subject is None:
        raise Refusal("Latency subject required, but missing")
    if type(subject.data) is not str:
        # The type that nats-server names here is always this one.
        raise Refusal("Expected latency subject to be a string, got string", subject.at)
    return Latency(subject.data, sampling)


def _sampling(entry: Value) -> int:
    data = entry.data
    if type(data) is str:
        if data.strip().lower() == "headers":
            return 0
        try:
            sampling = gotext.atoi(data.removesuffix("%"))
        except ValueError as error:
            raise Refusal(f"Failed to parse latency sample: {error}") from None
    elif type(data) is int:
        sampling = data
    else:
        got = kinds.go_type(data)
        raise Refusal(f"Expected latency sample to be a string or map/struct, got {got}")
    if not 1 <= sampling <= 100:
        raise Refusal("bad sampling percentage, should be 1-100")
    return sampling


EXPORTS: Final = kinds.Kind("array of exports", exports)

EXPORT_KEYS: Final[Table] = table(
    key("stream", kinds.Kind("subject", _name), _ACCOUNTS, "messages that others may receive"),
    key("service", kinds.Kind("subject", _name), _ACCOUNTS, "requests that others may make"),
    key("accounts", kinds.TEXTS, _ACCOUNTS, "only for these accounts"),
    key(
        "response_type response",
        kinds.Kind("singleton, stream or chunked", _response_type),
        _ACCOUNTS,
        "how many answers a request may get",
    ),
    key(
        "response_threshold threshold response_max_time response_time",
        kinds.Kind("duration", _threshold),
        _ACCOUNTS,
        "time for an answer",
    ),
    key(
        "latency",
        kinds.Kind("subject, or block of `subject` and `sampling`", _latency),
        _ACCOUNTS,
        "where measurements go; `sampling` is a percentage or `headers`",
    ),
    key(
        "account_token_position",
        kinds.INTEGER,
        _ACCOUNTS,
        "this token of the subject has to be the importer's name",
    ),
    key("allow_trace", kinds.BOOLEAN, _ACCOUNTS, "traces may follow messages into this account"),
)


# -- imports ---------------------------------------------------------------------------------------


def imports(key: str, value: Value, draft: Draft) -> tuple[Import, ...]:
    found: list[Import] = []
    for item in _items("Import", value, draft):
        with draft.attempt(item.at):
            assert type(item.data) is dict
            entry = _import(read_fields(IMPORT_KEYS, item.data, draft))
            if entry is not None:
                _check_free(entry, found)
                found.append(entry)
    return tuple(found)


def _import(fields: Fields) -> Import | None:
    _check_one_kind(fields, named=False)
    service = "service" in fields.at
    if "allow_trace" in fields.at and service:
        raise Refusal("Detected allow_trace directive on a non-stream", fields.at["allow_trace"])
    if {"prefix", "to"} <= fields.at.keys() and fields.at["prefix"] < fields.at["to"]:
        text = "Stream import can not have a 'prefix' and a 'to' property"
        raise Refusal(text, fields.at["to"])
    origin = fields.get("service" if service else "stream")
    if origin is None:
        return None
    account, subject = origin
    prefix = fields.get("prefix") if not service else None
    return Import(
        account,
        subject,
        to=fields.get("to") or (f"{prefix.removesuffix('.')}.{subject}" if prefix else subject),
        service=service,
        share=fields.get("share", False),
        allow_trace=fields.get("allow_trace", False),
        prefix=prefix or "",
    )


def _check_free(entry: Import, found: list[Import]) -> None:
    """A subject can lead to one service only."""
    for other in found if entry.service else ():
        if other.service and other.to == entry.to:
            raise Refusal(
                f"Duplicate service import subject {gotext.quote(entry.to)}, previously used in "
                f"import for account {gotext.quote(other.account)}, "
                f"subject {gotext.quote(other.subject)}"
            )


def _origin(key: str, value: Value, draft: Draft) -> tuple[str, str]:
    """The account that exports, and its subject."""
    if type(value.data) is not dict:
        got = kinds.go_type(value.data)
        raise Refusal(f"{key.capitalize()} entry should be an account map, got {got}")
    fields = read_fields(ORIGIN_KEYS, value.data, draft)
    account, subject = fields.get("account"), fields.get("subject")
    if not account or not subject:
        raise Refusal("Expect an account name and a subject")
    return account, subject


IMPORTS: Final = kinds.Kind("array of imports", imports)
_ORIGIN: Final = kinds.Kind("block of `account` and `subject`", _origin)

ORIGIN_KEYS: Final[Table] = table(
    key("account", kinds.TEXT, _ACCOUNTS, "the account that exports it"),
    key("subject", kinds.TEXT, _ACCOUNTS, "as that account calls it"),
)
IMPORT_KEYS: Final[Table] = table(
    key("stream", _ORIGIN, _ACCOUNTS, "messages to receive"),
    key("service", _ORIGIN, _ACCOUNTS, "requests to make"),
    key("prefix", kinds.TEXT, _ACCOUNTS, "tokens in front of a stream's subjects"),
    key("to", kinds.TEXT, _ACCOUNTS, "the subject as this account calls it"),
    key("share", kinds.BOOLEAN, _ACCOUNTS, "the service is told who asks"),
    key("allow_trace", kinds.BOOLEAN, _ACCOUNTS, "traces may follow a stream's messages here"),
)
