"""Users, wherever a file lists them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from jetstream_py import gotext, nkey
from jetstream_py.config import kinds
from jetstream_py.config.account_options import Permissions, User
from jetstream_py.config.draft import Draft, Problem, Refusal
from jetstream_py.config.parser import Block, Value
from jetstream_py.config.permissions import PERMISSIONS
from jetstream_py.config.secret import Secret
from jetstream_py.config.tables import Table, key, read_fields, table

_USERS: Final = "authorization.users"
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


def users(key: str, value: Value, draft: Draft) -> list[User]:
    if type(value.data) is not list:
        raise Refusal(f"Expected users field to be an array, got {kinds.shown(value.data)}")
    found = []
    for entry in value.data:
        if type(entry.data) is dict:
            found.append(_user(entry, entry.data, draft))
        else:
            text = f"Expected user entry to be a map/struct, got {kinds.shown(entry.data)}"
            draft.errors.append(Problem(entry.at, text))
    return found


def _user(entry: Value, block: Block, draft: Draft) -> User:
    mistakes = len(draft.errors)
    fields = read_fields(USER_KEYS, block, draft, "authorization.users.")
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
