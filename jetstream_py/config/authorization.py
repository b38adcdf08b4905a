"""The block `authorization`, and users wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from jetstream_py import gotext, nkey
from jetstream_py.config import durations, kinds
from jetstream_py.config.account_options import (
    GLOBAL_ACCOUNT,
    AuthCallout,
    Permissions,
    User,
)
from jetstream_py.config.draft import Draft, Login, Problem, Refusal
from jetstream_py.config.parser import Value
from jetstream_py.config.permissions import PERMISSIONS
from jetstream_py.config.secret import Secret
from jetstream_py.config.tables import Key, Table, key, read_fields, table

_LONG_TIMEOUT: Final = 60.0
_USERS: Final = "authorization.users"
_CALLOUT: Final = "authorization.callout"
CONNECTION_TYPES: Final = frozenset(
    ("STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "INPROCESS")
)


def _no_proxy(key: str, value: Value, draft: Draft) -> bool:
    if required := kinds.boolean(key, value, draft):
        raise Refusal(
            '"proxy_required" is not supported in this version: '
            "without it, users could do what they should not"
        )
    return required


PROXY_REQUIRED: Final = key("proxy_required", kinds.Kind("boolean", _no_proxy), "", "only `false`")


def timeout_kind(block: str, limit: float = _LONG_TIMEOUT) -> kinds.Kind:
    """Seconds, or a duration. `block` is for messages."""

    def read(key: str, value: Value, draft: Draft) -> float:
        data = value.data
        match data:
            case bool() | list() | dict():
                pass
            case int() | float():
                if data > limit:
                    draft.outdated.append(Problem(value.at, _high_timeout(data)))
                return float(data)
            case str():
                try:
                    return durations.seconds(data)
                except ValueError as error:
                    raise Refusal(f"error parsing {block} config, 'timeout' {error}") from None
        raise Refusal(f"error parsing {block} config, 'timeout' wrong type")

    return kinds.Kind("seconds or duration", read)


def _high_timeout(data: int | float) -> str:
    shown = data if isinstance(data, int) else f"{data:g}"
    return (
        f'invalid use of field "timeout": timeout of {shown} ({data:.6f} seconds) is high, consider '
        "keeping it under 60 seconds. possibly caused by unquoted duration; use '1m' instead of 1m, "
        "for example"
    )


# -- users -----------------------------------------------------------------------------------------


def users(key: str, value: Value, draft: Draft) -> list[User]:
    if type(value.data) is not list:
        raise Refusal(f"Expected users field to be an array, got {kinds.shown(value.data)}")
    return [_user(entry, draft) for entry in value.data]


def _user(entry: Value, draft: Draft) -> User:
    if type(entry.data) is not dict:
        shown = kinds.shown(entry.data)
        raise Refusal(f"Expected user entry to be a map/struct, got {shown}", entry.at)
    mistakes = len(draft.errors)
    fields = read_fields(USER_KEYS, entry.data, draft, "authorization.users.")
    name, password, public = fields.get("user"), fields.get("password"), fields.get("nkey")
    if len(draft.errors) == mistakes:
        if public and (name or password):
            raise Refusal("Nkey users do not take usernames or passwords", fields.last)
        if not public and not name:
            raise Refusal("User entry requires a user", fields.last or entry.at)
    return User(
        name=name or "",
        password=Secret(password or ""),
        nkey=public or "",
        permissions=fields.get("permissions"),
        connection_types=fields.get("allowed_connection_types", frozenset()),
    )


def settled_users(found: list[User], account: str, default: Permissions | None) -> tuple[User, ...]:
    """Users as members of their account; those without permissions get the default."""
    return tuple(
        replace(user, account=account, permissions=user.permissions or default) for user in found
    )


def duplicates(known: Iterable[User], found: Iterable[User]) -> list[str]:
    """Complaints about names that are not unique. A key is a name, too."""
    names = {user.nkey or user.name for user in known}
    complaints = []
    for user in found:
        name = user.nkey or user.name
        if name in names:
            what = "nkey" if user.nkey else "user"
            complaints.append(f"Duplicate {what} {gotext.quote(name)} detected")
        names.add(name)
    return complaints


def _user_key(key: str, value: Value, draft: Draft) -> str:
    public = kinds.text(key, value, draft)
    if not nkey.is_public(public, nkey.USER):
        raise Refusal("Not a valid public nkey for a user")
    return public


def _connection_types(key: str, value: Value, draft: Draft) -> frozenset[str]:
    data = value.data
    if type(data) is str:
        data = [value]
    if type(data) is not list:
        got = kinds.go_type(data)
        raise Refusal(f"error parsing allowed connection types: unsupported type {got}")
    for item in data:
        if type(item.data) is not str:
            raise Refusal(
                "error parsing allowed connection types: "
                "unsupported type *conf.token where string is expected"
            )
    types = [kinds.text(key, item, draft).upper() for item in data]
    if wrong := [name for name in types if name not in CONNECTION_TYPES]:
        raise Refusal(f"invalid connection types [{' '.join(map(gotext.quote, wrong))}]")
    return frozenset(types)


USERS: Final = kinds.Kind("array of users", users)

USER_KEYS: Final[Table] = table(
    key("user username", kinds.TEXT, _USERS, "name of the user"),
    key("password pass", kinds.TEXT, _USERS, "password, or its bcrypt hash"),
    key(
        "nkey",
        kinds.Kind("public key", _user_key),
        _USERS,
        "instead of name and password: who can sign for this key",
    ),
    key("permissions permission authorization", PERMISSIONS, _USERS, "what the user may do"),
    key(
        "allowed_connection_types connection_types clients",
        kinds.Kind("string or array", _connection_types),
        _USERS,
        "`STANDARD` and `WEBSOCKET` count here",
    ),
    PROXY_REQUIRED,
)


# -- callout ---------------------------------------------------------------------------------------


def _callout(key: str, value: Value, draft: Draft) -> AuthCallout:
    if type(value.data) is not dict:
        shown = kinds.shown(value.data)
        raise Refusal(f"Expected authorization callout to be a map/struct, got {shown}")
    mistakes = len(draft.errors)
    unknown = "Unknown field {} parsing authorization callout"
    fields = read_fields(CALLOUT_KEYS, value.data, draft, unknown=unknown)
    callout = AuthCallout(
        issuer=fields.get("issuer", ""),
        account=fields.get("account") or GLOBAL_ACCOUNT,
        users=tuple(fields.get("auth_users", ())),
        xkey=fields.get("xkey", ""),
        allowed_accounts=tuple(fields.get("allowed_accounts", ())),
    )
    if len(draft.errors) == mistakes:
        if not callout.issuer:
            text = "Authorization callouts require an issuer to be specified"
            raise Refusal(text, fields.last)
        if not callout.users:
            text = "Authorization callouts require authorized users to be specified"
            raise Refusal(text, fields.last)
    return callout


def callout_faults(draft: Draft) -> Iterator[str]:
    """Accounts that a callout may use have to be there."""
    for name in draft.login.callout.allowed_accounts if draft.login.callout else ():
        if name not in draft.accounts:
            yield (
                f"auth_callout allowed account {gotext.quote(name)} not found in configured accounts"
            )


def _issuer(key: str, value: Value, draft: Draft) -> str:
    public = kinds.text(key, value, draft)
    if not nkey.is_public(public, nkey.ACCOUNT):
        shown = gotext.quote(public)
        raise Refusal(f"Expected callout user to be a valid public account nkey, got {shown}")
    return public


def _xkey(key: str, value: Value, draft: Draft) -> str:
    public = kinds.text(key, value, draft)
    if not nkey.is_public(public, nkey.CURVE):
        raise Refusal(
            f"Expected callout xkey to be a valid public xkey, got {gotext.quote(public)}"
        )
    return public


def _array_of(what: str) -> kinds.Kind:
    def read(key: str, value: Value, draft: Draft) -> list[str]:
        if type(value.data) is not list:
            raise Refusal(f"Expected {what} field to be an array, got *conf.token")
        return kinds.texts(key, value, draft)

    return kinds.Kind("array of strings", read)


def _said(names: str, kind: kinds.Kind, note: str) -> Key:
    return key(names, kind, _CALLOUT, note)


CALLOUT_KEYS: Final[Table] = table(
    _said("issuer", kinds.Kind("public key", _issuer), "account key that signs the answers"),
    _said("account acc", kinds.TEXT, "account of the service that decides, `$G` by default"),
    _said("auth_users users", _array_of("auth_users"), "users that log in without being asked for"),
    _said("xkey key", kinds.Kind("public key", _xkey), "requests are encrypted for this key"),
    _said("allowed_accounts", _array_of("allowed accounts"), "accounts that users may be put in"),
)


# -- the block -------------------------------------------------------------------------------------

AUTHORIZATION_KEYS: Final[Table] = table(
    key("user username", kinds.TEXT, _USERS, "the single user"),
    key("password pass", kinds.TEXT, _USERS, "password of the single user, or its bcrypt hash"),
    key(
        "token",
        kinds.TEXT,
        "authorization.token",
        "the token that clients present, or its bcrypt hash",
    ),
    key("users", USERS, _USERS, "several users"),
    key(
        "timeout",
        timeout_kind("authorization"),
        "authorization.timeout",
        "time that clients have to log in",
    ),
    key(
        "default_permissions default_permission permissions",
        PERMISSIONS,
        _USERS,
        "of users that have none of their own",
    ),
    key(
        "auth_callout auth_hook",
        kinds.Kind("block", _callout),
        _CALLOUT,
        "another service decides who may connect",
    ),
    PROXY_REQUIRED,
)


def set_authorization(draft: Draft, value: Value, block: dict[str, Value]) -> None:
    fields = read_fields(AUTHORIZATION_KEYS, block, draft, "authorization.")
    login = Login(
        user=fields.get("user", ""),
        password=fields.get("password", ""),
        token=fields.get("token", ""),
        timeout=fields.get("timeout", 0.0),
        callout=fields.get("auth_callout"),
    )
    draft.login = login
    if (login.user or login.password) and login.token:
        raise Refusal("Cannot have a user/pass and token")
    found = settled_users(
        fields.get("users", []), GLOBAL_ACCOUNT, fields.get("default_permissions")
    )
    if found or draft.users:
        if login.user:
            raise Refusal("Can not have a single user/pass and a users array")
        if login.token:
            raise Refusal("Can not have a token and a users array")
    for complaint in duplicates(draft.users, found)[:1]:
        raise Refusal(complaint)
    draft.users.extend(found)
    if login.password and not login.user and not draft.users:
        draft.warnings.append(
            f"{value.at}: a password without a user has no effect: everybody may connect"
        )
