"""The block `accounts`."""

from __future__ import annotations

from typing import Final

from jetstream_py import gotext, nkey
from jetstream_py.config import kinds
from jetstream_py.config.account_options import (
    GLOBAL_ACCOUNT,
    AccountOptions,
    StreamLimits,
    User,
)
from jetstream_py.config.accounts_check import faults
from jetstream_py.config.draft import Draft, Problem, Refusal, Unplaced
from jetstream_py.config.exchange import EXPORTS, IMPORTS
from jetstream_py.config.mappings import MAPPINGS
from jetstream_py.config.parser import Data, Value
from jetstream_py.config.permissions import PERMISSIONS
from jetstream_py.config.scanner import Position
from jetstream_py.config.tables import Key, Table, key, read_fields, table
from jetstream_py.config.users import duplicates, settled_users, users
from jetstream_py.subject import is_literal, is_valid

_ACCOUNTS: Final = "accounts"


def set_accounts(draft: Draft, value: Value, data: Data) -> None:
    """A block, or just names. Anything else is no error for nats-server, and no account either."""
    if type(data) is list:
        _name_accounts(draft, data)
    elif type(data) is dict:
        for name, entry in data.items():
            with draft.attempt(entry.at):
                draft.accounts[name] = _account(name, entry, draft)
    # Accounts can only be held against each other when each of them is right.
    if not draft.errors:
        draft.errors.extend(Problem(value.at, text) for text in faults(draft.accounts))
    draft.options.accounts = tuple(draft.accounts.values())


def _name_accounts(draft: Draft, names: list[Value]) -> None:
    for entry in names:
        with draft.attempt(entry.at):
            name = kinds.text("accounts", entry, draft)
            _check_name(name)
            if name in draft.accounts:
                raise Refusal(f"Duplicate Account Entry: {name}")
            draft.accounts[name] = AccountOptions(name)


def _check_name(name: str) -> None:
    if name == GLOBAL_ACCOUNT:
        raise Refusal(f"{gotext.quote(name)} is a Reserved Account")


def _account(name: str, entry: Value, draft: Draft) -> AccountOptions:
    if type(entry.data) is not dict:
        raise Refusal("Expected map entries for accounts")
    _check_name(name)
    fields = read_fields(ACCOUNT_KEYS, entry.data, draft, "accounts.")
    members = settled_users(fields.get("users", []), name, fields.get("default_permissions"))
    if members:
        _add_users(draft, members, fields.at["users"])
    dest, sampling = fields.get("msg_trace", ("", 0))
    return AccountOptions(
        name,
        exports=fields.get("exports", ()),
        imports=fields.get("imports", ()),
        mappings=fields.get("mappings", ()),
        jetstream=fields.get("jetstream"),
        trace_dest=dest,
        trace_sampling=sampling or 100,
        nkey=fields.get("nkey", ""),
        **fields.get("limits", {}),
    )


def _add_users(draft: Draft, members: tuple[User, ...], at: Position) -> None:
    with draft.attempt(at):
        if draft.login.user:
            raise Refusal("Can not have a single user/pass and accounts")
        if draft.login.token:
            raise Refusal("Can not have a token and accounts")
        keys_first = sorted(members, key=lambda user: not user.nkey)
        for complaint in duplicates(draft.users, keys_first):
            draft.errors.append(Problem(at, complaint))
        draft.users.extend(members)


# -- values ----------------------------------------------------------------------------------------


def _members(key: str, value: Value, draft: Draft) -> list[User]:
    if type(value.data) is not list:
        shown = kinds.shown(value.data)
        raise Unplaced(f"Expected users field to be an array, got {shown}")
    return users(key, value, draft)


def _account_key(key: str, value: Value, draft: Draft) -> str:
    public = kinds.text(key, value, draft)
    if not nkey.is_public(public, nkey.ACCOUNT):
        raise Refusal(f"Not a valid public nkey for an account: {gotext.quote(public)}")
    return public


def _limits(key: str, value: Value, draft: Draft) -> dict[str, int]:
    if type(value.data) is not dict:
        shown = kinds.shown(value.data)
        raise Refusal(f"Expected account limits to be a map/struct, got {shown}")
    unknown = "Unknown field {} parsing account limits"
    return read_fields(ACCOUNT_LIMIT_KEYS, value.data, draft, unknown=unknown).data


def _jetstream(key: str, value: Value, draft: Draft) -> StreamLimits | None:
    match value.data:
        case bool():
            return StreamLimits() if value.data else None
        case str():
            choice = value.data.lower()
            if choice not in ("enabled", "disabled"):
                text = f"Expected 'enabled' or 'disabled' for string value, got '{choice}'"
                raise Unplaced(text)
            return StreamLimits() if choice == "enabled" else None
        case dict():
            fields = read_fields(ACCOUNT_JETSTREAM_KEYS, value.data, draft)
            fields.data.pop("cluster_traffic", None)
            return StreamLimits(**fields.data)
    got = kinds.go_type(value.data)
    raise Unplaced(f"Expected map, bool or string to define JetStream, got {got}")


def _size(key: str, value: Value, draft: Draft) -> int:
    if type(value.data) is not int:
        shown = kinds.shown(value.data)
        raise Refusal(f"Expected a parseable size for {gotext.quote(key)}, got {shown}")
    return value.data


def _bool(key: str, value: Value, draft: Draft) -> bool:
    if type(value.data) is not bool:
        shown = kinds.shown(value.data)
        raise Refusal(f"Expected a parseable bool for {gotext.quote(key)}, got {shown}")
    return value.data


def _traffic(key: str, value: Value, draft: Draft) -> str:
    data, shown = value.data, kinds.shown(value.data)
    if type(data) is not str:
        raise Refusal(
            f"Expected either 'system' or 'owner' string value for {gotext.quote(key)}, got {shown}"
        )
    if data.lower() not in ("system", "owner"):
        raise Refusal(
            f"Expected 'system' or 'owner' string value for {gotext.quote(key)}, got {shown}"
        )
    return data.lower()


def _trace(key: str, value: Value, draft: Draft) -> tuple[str, int]:
    """Where to, and how many of a hundred; 0 when it does not say."""
    match value.data:
        case str():
            return _trace_dest(value.data), 0
        case dict():
            unknown = "Unknown field {} parsing account message trace map/struct "
            unknown += gotext.quote(key)
            mistakes = len(draft.errors)
            fields = read_fields(TRACE_KEYS, value.data, draft, unknown=unknown)
            dest, sampling = fields.get("dest", ""), fields.get("sampling", 0)
            if sampling and not dest and len(draft.errors) == mistakes:
                text = "Trace destination sampling ignored since no destination was set"
                draft.outdated.append(Problem(value.at, text))
            return dest, sampling
    raise Refusal(
        f"Expected account message trace {gotext.quote(key)} to be a string or a map/struct, "
        f"got {kinds.go_type(value.data)}"
    )


def _trace_dest(subject: str) -> str:
    raw = subject.encode("utf-8", "surrogateescape")
    if not is_valid(raw) or not is_literal(raw):
        raise Refusal(f"Trace destination {gotext.quote(subject)} is not valid")
    return subject


def _dest(key: str, value: Value, draft: Draft) -> str:
    if type(value.data) is not str:
        got = kinds.go_type(value.data)
        raise Refusal(f"Field {gotext.quote(key)} should be a string, got {got}")
    return _trace_dest(value.data)


def _sampling(key: str, value: Value, draft: Draft) -> int:
    data = value.data
    if type(data) is str:
        try:
            sampling = gotext.atoi(data.removesuffix("%"))
        except ValueError:
            shown = gotext.quote(data)
            raise Refusal(f"Invalid trace destination sampling value {shown}") from None
    elif type(data) is int:
        sampling = data
    else:
        raise Refusal(
            f"Trace destination sampling field {gotext.quote(key)} should be an integer or a "
            f"percentage, got {kinds.go_type(data)}"
        )
    if not 1 <= sampling <= 100:
        # The misspelling is part of the text.
        text = f"Ttrace destination sampling value {sampling} is invalid, needs to be [1..100]"
        raise Refusal(text)
    return sampling


# -- tables ----------------------------------------------------------------------------------------


def _of(names: str, kind: kinds.Kind, note: str) -> Key:
    return key(names, kind, _ACCOUNTS, note)


_JS_SIZE: Final = kinds.Kind("size", _size)
_JS_COUNT: Final = kinds.Kind("integer", _size)

ACCOUNT_JETSTREAM_KEYS: Final[Table] = table(
    _of("max_memory max_mem mem memory", _JS_SIZE, "memory for streams"),
    _of("max_store max_file max_disk store disk", _JS_SIZE, "disk space for streams"),
    _of("max_streams streams", _JS_COUNT, "number of streams"),
    _of("max_consumers consumers", _JS_COUNT, "number of consumers"),
    _of("max_ack_pending", _JS_COUNT, "most unacknowledged messages of a consumer"),
    _of(
        "max_bytes_required max_stream_bytes max_bytes",
        kinds.Kind("boolean", _bool),
        "streams have to limit their size",
    ),
    _of(
        "memory_max_stream_bytes mem_max_stream_bytes", _JS_SIZE, "largest size of a memory stream"
    ),
    _of("store_max_stream_bytes disk_max_stream_bytes", _JS_SIZE, "largest size of a file stream"),
    _of("cluster_traffic", kinds.Kind("system or owner", _traffic), "no effect on a single server"),
)

ACCOUNT_LIMIT_KEYS: Final[Table] = table(
    _of("max_connections max_conn", kinds.INTEGER, "clients at once; -1: no limit"),
    _of("max_subscriptions max_subs", kinds.INTEGER, "subscriptions of a client; -1: no limit"),
    _of("max_payload max_pay", kinds.SIZE, "largest message; -1: that of the server"),
    _of("max_leafnodes max_leafs", kinds.INTEGER, "no effect on a single server"),
)

TRACE_KEYS: Final[Table] = table(
    _of("dest", kinds.Kind("subject", _dest), "where traces go"),
    _of("sampling", kinds.Kind("percent", _sampling), "share of the messages"),
)

ACCOUNT_KEYS: Final[Table] = table(
    _of("users", kinds.Kind("array of users", _members), "as those of `authorization`"),
    _of("default_permissions", PERMISSIONS, "of users that have none of their own"),
    _of("nkey", kinds.Kind("public key", _account_key), "key of the account"),
    _of("exports", EXPORTS, "what it offers to others"),
    _of("imports", IMPORTS, "what it takes from others"),
    _of("mappings maps", MAPPINGS, "subjects that are published under another name"),
    _of("jetstream", kinds.Kind("boolean, enabled or block", _jetstream), "off unless it says so"),
    _of("limits", kinds.Kind("block", _limits), "limits of its clients"),
    _of(
        "msg_trace trace_dest",
        kinds.Kind("subject, or block of `dest` and `sampling`", _trace),
        "where messages with the header `traceparent` are traced to",
    ),
)
